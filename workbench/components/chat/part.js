const LONG = 900;
const shorten = (node, row, words) => {
  const body = node.querySelector(".text"), more = node.querySelector(".more");
  set(body, row.text);
  const long = row.text.length > LONG || row.text.split("\n").length > 14;
  more.hidden = !long;
  if (!long) { body.classList.remove("cut"); return; }
  if (!node.dataset.open) body.classList.add("cut");
  const label = () => set(more, body.classList.contains("cut") ? words.more : words.less);
  more.onclick = () => { body.classList.toggle("cut"); node.dataset.open = body.classList.contains("cut") ? "" : "1"; label(); };
  label();
};
export default function ({ data: [data], parentElement, setTriggerValue }) {
  const root = rootOf(parentElement);
  if (!root.firstChild) root.append(el("div", "log"), el("div", "empty"));
  const [log, empty] = root.children, words = data.words;
  log.setAttribute("role", "log");
  log.setAttribute("aria-label", words.label);
  log.style.maxHeight = data.height + "px";
  log.tabIndex = 0;
  empty.hidden = data.rows.length > 0;
  set(empty, words.empty);
  const last = data.rows.length ? data.rows[data.rows.length - 1] : null;
  const moved = last && (log.dataset.last !== String(last.turn) || last.typing);
  keyed(log, data.rows, (r) => r.turn, (r) => {
    const node = el("article", "message"), head = el("header"), foot = el("footer");
    const star = el("button", "star"); star.type = "button"; star.append(icon("mark"));
    const tag = el(data.may_read && r.page ? "button" : "span", "tag");
    if (tag.tagName === "BUTTON") { tag.type = "button"; tag.onclick = () => setTriggerValue("page", r.page); }
    const more = el("button", "more"); more.type = "button";
    head.append(el("b", "line speaker"), el("span", "turn num"), el("time", "num"), star);
    foot.append(tag, el("span", "where"), el("span", "evidence"), el("span", "recalled"), el("span", "tokens num"));
    node.append(head, el("div", "text words"), more, foot);
    return node;
  }, (node, r) => {
    const find = (name) => node.querySelector(name);
    node.className = "message " + r.role + (r.resident ? "" : " gone") + (r.typing ? " typing" : "") + (r.marked ? " marked" : "");
    set(find(".speaker"), r.speaker);
    set(find(".turn"), r.number || "");
    set(find("time"), r.time || "");
    const star = find(".star");
    star.hidden = !data.may_mark && !r.marked;
    star.disabled = !data.may_mark;
    star.title = r.marked ? words.unmark : words.mark;
    star.setAttribute("aria-label", star.title + " " + (r.number || ""));
    star.setAttribute("aria-pressed", Boolean(r.marked));
    star.onclick = () => setTriggerValue("mark", { turn: r.turn, important: !r.marked });
    shorten(node, r, words);
    find("footer").hidden = !r.page;
    set(find(".tag"), r.page_label || "");
    set(find(".where"), r.where || "");
    find(".where").title = r.where_title || "";
    set(find(".evidence"), r.evidence || "");
    set(find(".recalled"), r.recalled || "");
    set(find(".tokens"), r.tokens || "");
  });
  if (moved && data.at_end) {
    log.dataset.last = last.turn;
    requestAnimationFrame(() => { log.scrollTop = log.scrollHeight; });
  }
}
