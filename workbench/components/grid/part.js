const SPACE = "http://www.w3.org/2000/svg";
const TONES = { ok: "check", warn: "error", bad: "cross", quiet: "quiet" };
const spark = (svg, shape) => {
  const now = JSON.stringify(shape);
  if (svg.dataset.shape === now) return;
  svg.dataset.shape = now;
  const path = (d, cls) => { const node = document.createElementNS(SPACE, "path"); node.setAttribute("d", d); node.setAttribute("class", cls); return node; };
  svg.replaceChildren(...["area", "line"].filter((name) => shape[name]).map((name) => path(shape[name], name + "-of")));
};
export default function ({ data: [data], parentElement, setTriggerValue }) {
  const root = rootOf(parentElement);
  if (!root.firstChild) {
    const frame = el("div", "frame"), table = el("table"), head = el("thead"), pager = el("nav", "pager");
    head.append(el("tr")); table.append(head, el("tbody")); frame.append(table);
    pager.append(el("span", "num"), el("button", "go"), el("button", "go"));
    root.append(frame, el("div", "empty"), pager);
  }
  const [frame, empty, pager] = root.children;
  frame.hidden = !data.rows.length;
  empty.hidden = data.rows.length > 0;
  set(empty, data.empty);
  root.querySelector("table").setAttribute("aria-label", data.label);
  keyed(root.querySelector("thead tr"), data.columns, (c) => c.key, (c) => {
    const th = el("th", c.kind), inner = el(c.sorts ? "button" : "span", "head");
    th.scope = "col";
    inner.append(el("span"), icon("down"));
    if (c.sorts) { inner.type = "button"; inner.onclick = () => setTriggerValue("sort", c.key); }
    th.append(inner);
    return th;
  }, (th, c) => {
    set(th.firstChild.firstChild, c.label);
    th.title = c.says;
    th.dataset.sorted = c.sorted;
    th.setAttribute("aria-sort", { up: "ascending", down: "descending" }[c.sorted] || "none");
  });
  keyed(root.querySelector("tbody"), data.rows, (r) => r.key, () => el("tr"), (tr, r) => {
    const cells = r.cells.map((cell, i) => ({ ...cell, column: data.columns[i], leads: i === 0 && r.href }));
    keyed(tr, cells, (c) => c.column.key, (c) => {
      const td = el("td", c.column.kind), mark = el("span", "mark"), words = el("div", "words-of");
      const main = el(c.leads ? "a" : c.column.kind === "act" ? "button" : "span", "main line");
      if (c.column.kind === "act") { main.type = "button"; main.onclick = () => setTriggerValue("act", r.key); }
      const svg = document.createElementNS(SPACE, "svg");
      svg.setAttribute("viewBox", "0 0 100 30"); svg.setAttribute("preserveAspectRatio", "none"); svg.setAttribute("class", "spark"); svg.setAttribute("aria-hidden", "true");
      words.append(main, el("span", "sub"));
      td.append(mark, words, svg);
      return td;
    }, (td, c) => {
      const [mark, words, svg] = td.children, [main, sub] = words.children;
      if (mark.dataset.tone !== c.tone) { mark.dataset.tone = c.tone; mark.className = "mark " + c.tone; mark.replaceChildren(...(c.tone ? [icon(TONES[c.tone])] : [])); }
      set(main, c.text); set(sub, c.sub);
      main.hidden = !c.text;
      td.title = c.says;
      if (c.leads) {
        main.href = c.leads;
        main.onclick = (event) => {
          if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
          event.preventDefault(); setTriggerValue("open", r.key);
        };
      }
      svg.toggleAttribute("hidden", !c.shape.line);
      if (c.shape.line) spark(svg, c.shape);
    });
  });
  pager.hidden = !data.pager;
  if (data.pager) {
    set(pager.children[0], data.pager.text);
    [["before", 1], ["after", 2]].forEach(([name, i]) => {
      const button = pager.children[i];
      button.type = "button";
      set(button, data.pager.labels[i - 1]);
      button.disabled = data.pager[name] < 0;
      button.onclick = () => setTriggerValue("page", data.pager[name]);
    });
  }
}
