// vis-network draws on a canvas: words are painted there, never made into HTML. Its code is fetched, or brought by another part.
const alive = new Map();
const READY = "memory-workbench-vis";

export default function ({ data: [data], parentElement, setTriggerValue }) {
  const root = rootOf(parentElement);
  if (!root.firstChild) build(root);
  root.firstChild.setAttribute("aria-label", data.alt);
  const [nearer, farther, fit] = root.querySelectorAll(".tools button");
  for (const [button, name] of [[nearer, "nearer"], [farther, "farther"], [fit, "fit"]]) {
    button.title = data.words[name];
    button.setAttribute("aria-label", data.words[name]);
  }
  root.redraw = () => draw(root, data, setTriggerValue);
  if (globalThis.vis?.Network) root.redraw();
  else if (!root.waits) {
    root.waits = true;
    if (data.code) import(new URL(data.code, location.href).href).then(() => root.redraw());
    else globalThis.addEventListener(READY, () => root.redraw(), { once: true });
  }
}

function build(root) {
  const canvas = el("div", "canvas"), tools = el("div", "tools");
  canvas.setAttribute("role", "img");
  for (const [sign, act] of [["+", (net) => net.moveTo({ scale: net.getScale() * 1.3 })],
    ["\u2212", (net) => net.moveTo({ scale: net.getScale() / 1.3 })], ["\u2922", (net) => net.fit()]]) {
    const button = el("button", "", sign);
    button.type = "button";
    button.onclick = () => { const held = alive.get(root); if (held) act(held.net); };
    tools.append(button);
  }
  root.append(canvas, tools);
}

function draw(root, data, fire) {
  for (const [other, held] of alive) if (!other.isConnected) { held.net.destroy(); alive.delete(other); }
  let held = alive.get(root);
  if (!held) {
    held = { nodes: new vis.DataSet(data.nodes), edges: new vis.DataSet(data.edges), about: data.about, ink: "" };
    held.net = new vis.Network(root.firstChild, { nodes: held.nodes, edges: held.edges }, data.options);
    held.net.on("click", (at) => held.fire("node", at.nodes[0] ?? at.edges[0] ?? ""));
    held.net.on("beforeDrawing", () => paint(root, held));
    alive.set(root, held);
    setTimeout(() => held.net.fit({ animation: false }), 0);
  } else {
    renew(held.nodes, data.nodes);
    renew(held.edges, data.edges);
  }
  held.fire = fire;
  paint(root, held);
  if (held.about !== data.about) { held.about = data.about; held.net.fit({ animation: false }); }
  select(held, data.selected);
}

function renew(set_, items) {
  const kept = new Set(items.map((item) => item.id));
  set_.remove(set_.getIds().filter((id) => !kept.has(id)));
  set_.update(items);
}

function select(held, name) {
  held.net.unselectAll();
  if (!name) return;
  if (held.nodes.get(name)) held.net.selectNodes([name]);
  else if (held.edges.get(name)) held.net.selectEdges([name]);
}

// The canvas does not know the theme: colours are read anew when the theme's text colour is another one.
function paint(root, held) {
  const style = getComputedStyle(root), of = (name) => style.getPropertyValue(name).trim();
  const ink = of("--st-text-color"), paper = of("--st-background-color");
  if (ink + paper === held.ink) return;
  held.ink = ink + paper;
  queueMicrotask(() => held.net.setOptions({
    nodes: { font: { color: ink, strokeColor: paper, face: of("--st-font") || "sans-serif" } },
    edges: { color: { color: "#8b98ab", highlight: of("--st-primary-color"), hover: ink, inherit: false } },
  }));
}
