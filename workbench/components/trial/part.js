export default function ({ data: [data], parentElement }) {
  const root = rootOf(parentElement);
  if (!root.firstChild) root.append(el("div", "bars"), el("table"));
  const [bars, table] = root.children;
  keyed(bars, data.bars, (b) => b.name, () => {
    const row = el("div", "side"), bar = el("div", "bar"); bar.setAttribute("aria-hidden", "true");
    row.append(el("span", "label"), bar, el("span", "num total")); return row;
  }, (row, b) => {
    const [label, bar, total] = row.children;
    set(label, b.label); set(total, b.total);
    keyed(bar, b.parts, (p) => p.key, () => el("span", "piece mono"), (piece, p) => {
      piece.style.width = p.width + "%"; piece.title = p.title; piece.dataset.section = p.section;
      piece.className = "piece mono" + (p.holds ? " holds" : "") + (p.state === "came" || p.state === "left" ? " " + p.state : "");
      set(piece, p.label);
    });
  });
  if (!table.firstChild) { const head = el("thead"); head.append(el("tr")); table.append(head, el("tbody")); }
  table.setAttribute("aria-label", data.label);
  keyed(table.querySelector("tr"), data.head, (h) => h, () => el("th"), (th, h) => set(th, h));
  keyed(table.querySelector("tbody"), data.rows, (r) => r.key, () => {
    const row = el("tr"); const name = el("td"); name.append(el("b", "mono"), el("span", "sort"));
    const what = el("td", "what"); what.append(el("span", "sign mono"), el("span"));
    row.append(name, what, el("td", "num"), el("td", "num")); return row;
  }, (row, r) => {
    row.className = r.state + (r.holds ? " holds" : "");
    set(row.children[0].firstChild, r.name); set(row.children[0].lastChild, r.section);
    set(row.children[1].firstChild, r.sign); set(row.children[1].lastChild, r.says);
    set(row.children[2], r.before); set(row.children[3], r.after);
  });
}
