const SIGNS = {
  entity: "M12 5a7 7 0 1 0 .01 0z", event: "M12 3l9 9-9 9-9-9z", claim: "M5 5h14v14H5z",
  page: "M7 4h10l5 8-5 8H7l-5-8z", bookmark: "M12 4l9 16H3z",
};

export default function ({ data: [data], parentElement, setTriggerValue }) {
  const root = rootOf(parentElement);
  if (!root.firstChild) root.append(el("div", "list"));
  const list = root.firstChild;
  list.setAttribute("role", "group");
  list.setAttribute("aria-label", data.label);
  keyed(list, data.rows, (r) => r.key, () => {
    const row = el("button", "row"), sign = icon("quiet");
    row.type = "button";
    row.append(sign, el("span", "before"), el("span", "line words-of"), el("span", "meta line"));
    return row;
  }, (row, r) => {
    row.dataset.kind = r.kind;
    row.classList.toggle("over", r.over);
    row.querySelector(".icon path").setAttribute("d", SIGNS[r.kind] || SIGNS.entity);
    const before = row.querySelector(".before"), text = row.querySelector(".words-of");
    before.hidden = !r.before;
    set(before, r.before);
    set(text, r.text);
    text.title = r.text;
    set(row.querySelector(".meta"), r.meta);
    row.setAttribute("aria-pressed", data.selected === r.id);
    row.onclick = () => setTriggerValue("node", r.id);
  });
}
