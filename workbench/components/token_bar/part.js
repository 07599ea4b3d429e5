// How much of the bar a label needs, in per cent of a bar of usual width.
const room = (label) => [...label].reduce((sum, c) => sum + (c > "\u2e80" ? 1.25 : 0.72), 0);

export default function ({ data: [data], parentElement, setTriggerValue }) {
  const root = rootOf(parentElement);
  if (!root.firstChild) {
    const frame = el("div", "frame");
    frame.append(el("div", "bar"), el("div", "marks"));
    root.append(frame, el("div", "axis num"), el("div", "legend"));
  }
  const bar = root.querySelector(".bar");
  bar.setAttribute("role", "group");
  bar.setAttribute("aria-label", data.label);
  keyed(bar, data.segments, (s) => s.id, (s) => {
    const node = el(s.page ? "button" : "div", "seg");
    if (s.page) node.type = "button";
    node.append(el("span", "lab"));
    node.style.width = "0";
    return node;
  }, (node, s) => {
    requestAnimationFrame(() => { node.style.width = s.width + "%"; });
    node.className = "seg " + s.section + (data.selected === s.page && s.page ? " sel" : "");
    set(node.firstChild, s.label);
    node.firstChild.hidden = s.width < 1.6 + room(s.label);
    node.title = s.title;
    node.setAttribute("aria-label", s.title);
    if (s.page) {
      node.setAttribute("aria-pressed", data.selected === s.page);
      node.onclick = () => setTriggerValue("page", s.page);
    }
  });
  keyed(root.querySelector(".marks"), data.marks, (m) => m.kind, () => {
    const node = el("div"); node.append(el("span")); return node;
  }, (node, m) => {
    node.className = "mark " + m.kind;
    node.style.left = m.at + "%";
    set(node.firstChild, m.label);
  });
  keyed(root.querySelector(".axis"), data.axis, (a) => a.text, () => el("span"), (node, a) => {
    node.style.left = a.at + "%";
    set(node, a.text);
  });
  keyed(root.querySelector(".legend"), data.legend, (l) => l.section, () => {
    const node = el("span", "entry"); node.append(el("i"), el("b"), el("span", "num")); return node;
  }, (node, l) => {
    node.firstChild.className = "swatch " + l.section;
    set(node.children[1], l.name);
    set(node.children[2], l.tokens);
  });
}
