export default function ({ data: [data], parentElement, setTriggerValue }) {
  const root = rootOf(parentElement);
  if (!root.firstChild) {
    const plot = el("div", "plot"), axis = el("div", "axis"), gates = el("dl"), more = el("details");
    plot.append(el("div", "open"), el("div", "bins"), el("div", "marks"), el("div", "cut"));
    plot.lastChild.append(el("span"));
    plot.setAttribute("role", "img");
    const table = el("table"), head = el("thead"), frame = el("div", "frame");
    head.append(el("tr")); table.append(head, el("tbody")); frame.append(table);
    more.append(el("summary"), frame);
    root.append(plot, axis, el("div", "legend"), gates, more);
  }
  const [plot, axis, legend, gates, more] = root.children;
  const [open, bins, marks, line] = plot.children;
  plot.setAttribute("aria-label", data.alt);
  keyed(bins, data.bins, (b) => b.key, () => el("div", "bin"), (node, b) => {
    node.style.left = b.left + "%"; node.style.width = b.width + "%"; node.style.height = b.height + "%"; node.title = b.title;
    keyed(node, b.cells, (c) => c.key, () => el("i"), (cell, c) => { cell.className = c.kind; cell.style.flexGrow = c.amount; });
  });
  keyed(marks, data.marks, (m) => m.key, () => el("span", "mark mono"), (node, m) => {
    set(node, m.label); node.style.left = m.left + "%"; node.style.bottom = `calc(${m.bottom}% + 3px)`;
  });
  line.hidden = open.hidden = !data.line;
  if (data.line) {
    line.style.left = open.style.left = data.line.left + "%"; set(line.firstChild, data.line.label);
    line.className = "cut" + (data.line.left > 60 ? " before" : "");
    open.className = "open" + (data.shut ? " shut" : "");
  }
  keyed(axis, data.ticks, (t) => t.label, () => el("span", "num"), (node, t) => { set(node, t.label); node.style.left = t.left + "%"; });
  keyed(legend, data.legend, (l) => l.kind, () => { const node = el("span"); node.append(el("i"), el("span")); return node; }, (node, l) => {
    node.firstChild.className = l.kind; set(node.lastChild, l.label);
  });
  keyed(gates, data.gates, (g) => g.name, () => {
    const node = el("div"), bar = el("dd", "gate"), glyph = el("span", "glyph");
    bar.append(el("i"), el("b")); node.append(el("dt"), bar, glyph, el("span", "said")); return node;
  }, (node, g) => {
    node.className = g.passed ? "ok" : "no";
    set(node.firstChild, g.label);
    node.querySelector("i").style.width = g.best + "%"; node.querySelector("b").style.left = g.least + "%";
    node.querySelector(".glyph").replaceChildren(icon(g.passed ? "check" : "cross"));
    set(node.querySelector(".said"), g.says);
  });
  set(more.firstChild, data.more);
  const table = more.querySelector("table");
  table.setAttribute("aria-label", data.alt);
  keyed(table.querySelector("tr"), data.head, (h) => h, () => el("th"), (th, h) => set(th, h));
  keyed(table.querySelector("tbody"), data.rows, (r) => r.name, () => {
    const row = el("tr"), name = el("td"), button = el("button", "mono"); button.type = "button"; name.append(button, el("span", "mono"));
    row.append(name, el("td", "num"), el("td"), el("td"), el("td", "words")); return row;
  }, (row, r) => {
    const [button, plain] = row.firstChild.children;
    row.className = r.carries ? "carries" : "";
    button.hidden = !r.page; plain.hidden = !!r.page; set(button, r.name); set(plain, r.name);
    button.onclick = () => setTriggerValue("page", r.page);
    r.cells.forEach((text, i) => set(row.children[i + 1], text));
  });
}
