export default function ({ data: [data], parentElement, setTriggerValue }) {
  const root = rootOf(parentElement);
  if (!root.firstChild) {
    const frame = el("div", "frame"), table = el("table"), head = el("thead"), row = el("tr");
    row.append(el("th")); head.append(row); table.append(head, el("tbody")); frame.append(table);
    root.append(frame, el("p", "note"));
    // The arrow keys walk from cell to cell.
    table.addEventListener("keydown", (event) => {
      const [down, right] = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key] || [];
      const cell = event.target.closest("td");
      if (down === undefined || !cell || isTaken(event)) return;
      const line = table.tBodies[0].rows[cell.parentNode.rowIndex - 1 + down];
      const next = line && line.cells[cell.cellIndex + right];
      const button = next && next.querySelector("button");
      if (button) { button.focus(); event.preventDefault(); event.stopPropagation(); }
    });
  }
  const table = root.querySelector("table"), head = table.tHead.rows[0];
  table.setAttribute("aria-label", data.label);
  keyed(head, [{ name: data.corner, says: "", apart: false, corner: true }, ...data.columns], (c) => (c.corner ? "" : c.name),
    () => { const th = el("th", "mono"); th.scope = "col"; return th; },
    (th, c) => { set(th, c.name); th.title = c.says; th.className = c.corner ? "corner" : c.apart ? "mono apart" : "mono"; });
  keyed(table.tBodies[0], data.rows, (r) => r.name, () => { const tr = el("tr"), th = el("th", "mono"); th.scope = "row"; tr.append(th); return tr; },
    (tr, r) => {
      const name = tr.firstElementChild;
      name.dataset.key = "";
      set(name, r.name); name.title = r.says;
      while (tr.cells.length > r.cells.length + 1) tr.lastChild.remove();
      r.cells.forEach((c, n) => {
        let td = tr.cells[n + 1];
        if (!td) {
          td = el("td"); const button = el("button"); button.type = "button";
          button.append(el("span", "value num"), el("span", "sub num")); td.append(button); tr.append(td);
        }
        td.className = (c.apart ? "apart" : "") + (c.chosen ? " chosen" : "");
        const button = td.firstChild;
        button.style.setProperty("--level", c.level + "%");
        button.title = c.says;
        button.setAttribute("aria-label", c.says);
        button.setAttribute("aria-pressed", String(c.chosen));
        set(button.children[0], c.text + (c.mark ? " " + c.mark : ""));
        set(button.children[1], c.sub);
        button.onclick = () => setTriggerValue("cell", c.key);
      });
    });
  set(root.lastChild, data.note);
}
