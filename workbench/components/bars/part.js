export default function ({ data: [data], parentElement }) {
  const root = rootOf(parentElement);
  if (!root.firstChild) { const list = el("dl"); root.append(list); }
  const list = root.firstChild;
  list.setAttribute("aria-label", data.label);
  keyed(list, data.rows, (r) => r.key, () => {
    const row = el("div"), value = el("dd", "num"), bar = el("span", "bar");
    bar.setAttribute("aria-hidden", "true"); bar.append(el("i")); value.append(el("span"));
    row.append(el("dt"), bar, value, el("dd", "says")); return row;
  }, (row, r) => {
    set(row.children[0], r.label);
    row.children[1].firstChild.style.width = r.width + "%";
    row.children[1].firstChild.className = r.tone;
    set(row.children[2].firstChild, r.value);
    set(row.children[3], r.says);
  });
}
