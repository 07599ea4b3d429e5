export default function ({ data: [data], parentElement, setTriggerValue }) {
  const root = rootOf(parentElement);
  if (!root.firstChild) {
    const frame = el("div", "frame"), table = el("table"), head = el("thead"), row = el("tr");
    row.append(el("th"), el("th"), el("th"));
    head.append(row); table.append(head, el("tbody")); frame.append(table); root.append(frame);
  }
  root.querySelector("table").setAttribute("aria-label", data.label);
  [...root.querySelectorAll("th")].forEach((th, i) => set(th, data.head[i]));
  keyed(root.querySelector("tbody"), data.rows, (r) => r.key, () => {
    const row = el("tr"), page = el("td", "page"), score = el("td", "score"), why = el("td", "why");
    const read = el("button", "mono"); read.type = "button";
    page.append(read, el("span", "turn"));
    const bar = el("span", "bar"); bar.append(el("i"));
    score.append(el("span", "num"), bar, el("span", "parts"));
    why.append(el("span", "glyph"), el("span", "reason"));
    row.append(page, score, why);
    return row;
  }, (row, r) => {
    row.className = r.chosen ? "chosen" : "dropped";
    const read = row.querySelector("button");
    set(read, r.stub);
    read.disabled = !data.may_read;
    read.onclick = () => setTriggerValue("page", r.page);
    set(row.querySelector(".turn"), r.turn);
    set(row.querySelector(".num"), r.score);
    set(row.querySelector(".parts"), r.parts);
    row.querySelector(".bar i").style.width = r.width + "%";
    row.querySelector(".glyph").replaceChildren(icon(r.chosen ? "check" : "cross"));
    set(row.querySelector(".reason"), r.why);
  });
}
