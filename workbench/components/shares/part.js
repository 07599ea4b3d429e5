const HUES = ["#2563eb", "#7c3aed", "#0f766e", "#b45309", "#be185d", "#475569", "#4d7c0f", "#0369a1"];
const SECTIONS = ["system", "facts", "stubs", "recalled", "resident", "new", "exchange"];
const hue = (r) => (SECTIONS.includes(r.name) ? `var(--${r.name})` : HUES[r.hue % HUES.length]);
export default function ({ data: [data], parentElement }) {
  const root = rootOf(parentElement);
  if (!root.firstChild) root.append(el("div", "bar"), el("dl"));
  const [bar, list] = root.children;
  bar.setAttribute("role", "img");
  bar.setAttribute("aria-label", data.label);
  keyed(bar, data.rows, (r) => r.name, () => el("span", "piece"), (node, r) => {
    node.style.width = r.width + "%";
    node.style.background = hue(r);
    node.title = `${r.label}: ${r.value}`;
    set(node, r.width > 9 ? r.label : "");
  });
  keyed(list, data.rows, (r) => r.name, () => {
    const node = el("div"), term = el("dt"); term.append(el("i"), el("span")); node.append(term, el("dd", "num")); return node;
  }, (node, r) => {
    node.querySelector("i").style.background = hue(r);
    set(node.querySelector("span"), r.label);
    set(node.querySelector("dd"), r.value);
  });
}
