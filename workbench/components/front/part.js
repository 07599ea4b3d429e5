export default function ({ data: [data], parentElement, setTriggerValue }) {
  const root = rootOf(parentElement);
  if (!root.firstChild) {
    const space = "http://www.w3.org/2000/svg";
    const plot = el("div", "plot"), svg = document.createElementNS(space, "svg"), more = el("details");
    svg.setAttribute("viewBox", "0 0 100 100"); svg.setAttribute("preserveAspectRatio", "none"); svg.setAttribute("aria-hidden", "true");
    svg.append(document.createElementNS(space, "polyline"));
    plot.setAttribute("role", "group");
    plot.append(el("div", "up"), svg, el("div", "dots"));
    const table = el("table"), head = el("thead"), frame = el("div", "frame");
    head.append(el("tr")); table.append(head, el("tbody")); frame.append(table);
    more.append(el("summary"), frame);
    root.append(el("div", "title"), plot, el("div", "across"), el("div", "foot"), el("div", "legend"), more);
  }
  const [title, plot, across, foot, legend, more] = root.children;
  const [up, svg, dots] = plot.children;
  plot.setAttribute("aria-label", data.alt);
  set(title, data.axes[1]); set(foot, data.axes[0]);
  svg.firstChild.setAttribute("points", data.line);
  keyed(up, data.up, (t) => t.label, () => { const n = el("span"); n.append(el("b", "num")); return n; }, (n, t) => { n.style.top = t.top + "%"; set(n.firstChild, t.label); });
  keyed(across, data.across, (t) => t.label, () => el("span", "num"), (n, t) => { n.style.left = t.left + "%"; set(n, t.label); });
  keyed(dots, data.dots, (d) => d.key, () => { const b = el("button"); b.type = "button"; return b; }, (b, d) => {
    b.className = d.kind + (d.chosen ? " chosen" : "");
    b.style.left = d.left + "%"; b.style.top = d.top + "%";
    b.title = d.says; b.setAttribute("aria-label", d.says); b.setAttribute("aria-pressed", String(d.chosen));
    b.tabIndex = d.kind === "front" || d.chosen ? 0 : -1;  // the others are rows of the table
    b.onclick = () => setTriggerValue("cell", d.key);
  });
  keyed(legend, data.legend, (l) => l.kind, () => { const n = el("span"); n.append(el("i"), el("span")); return n; },
    (n, l) => { n.firstChild.className = l.kind; set(n.lastChild, l.label); });
  set(more.firstChild, data.more);
  const table = more.querySelector("table");
  table.setAttribute("aria-label", data.label);
  keyed(table.querySelector("tr"), data.head, (h) => h, () => el("th"), (th, h) => set(th, h));
  keyed(table.querySelector("tbody"), data.rows, (r) => r.key, () => {
    const tr = el("tr"), name = el("td"), button = el("button", "mono"); button.type = "button"; name.append(button); tr.append(name); return tr;
  }, (tr, r) => {
    tr.className = r.chosen ? "chosen" : "";
    set(tr.firstChild.firstChild, r.cells[0]);
    tr.firstChild.firstChild.onclick = () => setTriggerValue("cell", r.key);
    r.cells.slice(1).forEach((text, i) => { if (!tr.cells[i + 1]) tr.append(el("td", "num")); set(tr.cells[i + 1], text); });
  });
}
