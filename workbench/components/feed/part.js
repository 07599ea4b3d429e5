export default function ({ data: [data], parentElement, setTriggerValue }) {
  const root = rootOf(parentElement);
  if (!root.firstChild) root.append(el("div", "list"), el("div", "empty"));
  const [list, empty] = root.children;
  list.setAttribute("role", "list");
  list.setAttribute("aria-label", data.label);
  list.style.maxHeight = data.height + "px";
  list.tabIndex = 0;
  empty.hidden = data.rows.length > 0;
  set(empty, data.empty);
  const known = list.dataset.drawn;
  list.dataset.drawn = "1";
  keyed(list, data.rows, (r) => r.key, (r) => {
    const row = el("div", "row " + r.tone + (known ? " fresh" : ""));
    row.setAttribute("role", "listitem");
    const dot = el("span", "dot"), body = el(data.may_read && r.page ? "button" : "div", "body");
    dot.append(icon(r.tone));
    if (body.tagName === "BUTTON") { body.type = "button"; body.onclick = () => setTriggerValue("page", r.page); }
    body.append(el("b"), el("span", "words-of"));
    row.append(el("time", "mono"), dot, body);
    return row;
  }, (row, r) => {
    set(row.children[0], r.time);
    row.children[0].title = r.title;
    set(row.children[2].children[0], r.kind);
    set(row.children[2].children[1], r.text);
  });
}
