const SPACE = "http://www.w3.org/2000/svg";
const draw = (svg, shape) => {
  const now = JSON.stringify(shape);
  if (svg.dataset.shape === now) return;
  svg.dataset.shape = now;
  svg.replaceChildren(...["area", "line"].filter((name) => shape[name]).map((name) => {
    const path = document.createElementNS(SPACE, "path"); path.setAttribute("d", shape[name]); path.setAttribute("class", name + "-of"); return path;
  }));
};
export default function ({ data: [data], parentElement, setTriggerValue }) {
  const root = rootOf(parentElement);
  if (!root.firstChild) root.append(el("div", "cards"));
  const list = root.firstChild;
  list.setAttribute("role", "list");
  list.setAttribute("aria-label", data.label);
  const follow = (key, door) => (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault(); setTriggerValue("open", [key, door]);
  };
  keyed(list, data.cards, (c) => c.key, () => {
    const card = el("div", "card"), svg = document.createElementNS(SPACE, "svg");
    card.setAttribute("role", "listitem");
    svg.setAttribute("viewBox", "0 0 100 30"); svg.setAttribute("preserveAspectRatio", "none"); svg.setAttribute("class", "spark"); svg.setAttribute("role", "img");
    card.append(el("h3", "line"), el("p", "line"), svg, el("div", "note"), el("dl"), el("div", "doors"));
    return card;
  }, (card, c) => {
    const [title, says, svg, note, figures, doors] = card.children;
    set(title, c.title); title.title = c.title; set(says, c.says); set(note, c.course);
    svg.setAttribute("aria-label", c.course);
    svg.toggleAttribute("hidden", !c.shape.line);
    draw(svg, c.shape);
    keyed(figures, c.figures, (f) => f[0], () => { const node = el("div"); node.append(el("dd", "num"), el("dt")); return node; },
      (node, [name, value]) => { set(node.firstChild, value); set(node.lastChild, name); });
    keyed(doors, c.doors, (d) => d[0], () => el("a", "door"), (node, [name, label, href]) => {
      set(node, label); node.href = href; node.onclick = follow(c.key, name);
    });
  });
}
