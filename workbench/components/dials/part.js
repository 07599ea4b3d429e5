const PAUSE_MS = 120;
const MOVED = "moved";

export default function ({ data: [data], parentElement, setTriggerValue }) {
  const root = rootOf(parentElement);
  if (!root.firstChild) build(root);
  const my = root.dials;
  Object.assign(my, { data, fire: setTriggerValue });
  for (const [name, held] of my.held) if (held.n && held.n <= data.heard) my.held.delete(name);
  my.show();
}

function build(root) {
  const presets = el("div", "row"), find = el("input", "find"), groups = el("div", "row groups");
  const list = el("div", "list"), none = el("div", "empty"), told = el("div", "told words"), keep = el("div", "row");
  find.type = "search";
  find.maxLength = 80;
  groups.setAttribute("role", "group");
  told.setAttribute("role", "status");
  root.append(presets, find, groups, list, none, told, keep);
  // What the reader moved and nobody has taken up yet: by name, its value and the number it was told under.
  const my = root.dials = { held: new Map(), n: 0, timer: 0, group: "" };

  my.tell = () => {
    const changes = {};
    my.n = Math.max(my.n, my.data.heard) + 1;
    for (const [name, held] of my.held) if (!held.n) { held.n = my.n; changes[name] = held.value; }
    if (Object.keys(changes).length) my.fire("move", { n: my.n, changes });
  };
  my.move = (name, value, pause = PAUSE_MS) => {
    my.held.set(name, { value, n: 0 });
    clearTimeout(my.timer);
    my.timer = setTimeout(my.tell, pause);
  };
  my.do = (what, value = null) => { clearTimeout(my.timer); my.held.clear(); my.fire(what, value); };
  my.show = () => show(root, my, { presets, find, groups, list, none, told, keep });
  find.addEventListener("input", my.show);
}

function show(root, my, at) {
  const { data } = my, words = at.find.value.trim().toLowerCase().replaceAll("_", " ").split(/\s+/).filter(Boolean);
  const moved = data.dials.filter((d) => d.moved);
  const groups = moved.length ? [...data.groups, [MOVED, `${data.words.moved} ${moved.length}`]] : data.groups;
  if (!groups.some(([name]) => name === my.group)) my.group = groups[0][0];
  at.find.placeholder = data.words.find;
  at.find.setAttribute("aria-label", data.words.find);
  at.groups.setAttribute("aria-label", data.words.groups);
  at.list.setAttribute("aria-label", data.words.label);
  keyed(at.presets, data.presets, ([name]) => name, () => button("chip"), (b, [name, label, says]) => {
    set(b, label); b.title = says; b.onclick = () => my.do("preset", name);
  });
  keyed(at.groups, groups, ([name]) => name, () => button("pill"), (b, [name, label]) => {
    set(b, label);
    b.disabled = words.length > 0;
    b.setAttribute("aria-pressed", String(!words.length && name === my.group));
    b.onclick = () => { my.group = name; my.show(); };
  });
  const speaks = (d) => `${d.name} ${d.unit} ${d.says} ${d.value}`.toLowerCase().replaceAll("_", " ");
  const shown = words.length ? data.dials.filter((d) => words.every((word) => speaks(d).includes(word)))
    : my.group === MOVED ? moved : data.dials.filter((d) => d.group === my.group);
  keyed(at.list, shown, (d) => d.name, (d) => dial(d, my), (node, d) => fill(node, d, my));
  set(at.none, shown.length ? "" : data.words.none);
  at.none.hidden = shown.length > 0;
  set(at.told, data.told);
  at.told.classList.toggle("refused", data.refused);
  const doing = ["apply", "undo", "reset"].map((what) => [what, data.words[what], () => my.do(what), data.may[what]]);
  const files = Object.entries(data.files).map(([name, text]) => [name, name, () => take(name, text), true]);
  keyed(at.keep, [...doing, ...files], ([what]) => what, ([what]) => button(what === "apply" ? "go first" : "go"),
    (b, [what, label, act, may]) => {
      set(b, label); b.disabled = !may; b.onclick = act; b.hidden = what === "undo" && !may;
      b.title = what in data.files ? data.words.file_says : "";
    });
}

const button = (cls) => { const b = el("button", cls); b.type = "button"; return b; };

function take(name, text) {
  const link = el("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

const isRange = (d) => d.kind === "int" || d.kind === "float";

function dial(d, my) {
  const node = el("label", "dial"), top = el("span", "top"), says = el("span", "says");
  top.append(el("span", "name mono"), el("span", "mark"), el("output", "num"));
  const input = el(d.kind === "name" ? "select" : "input");
  if (isRange(d)) input.type = "range";
  if (d.kind === "text") { input.type = "text"; input.maxLength = 400; input.spellcheck = false; }
  node.append(top, input, says);
  const tell = (pause) => { my.move(d.name, read(node), pause); write(node, read(node)); };
  input.addEventListener(d.kind === "text" ? "change" : "input", () => tell(isRange(d) ? undefined : 0));
  return node;
}

function fill(node, d, my) {
  const [top, input, says] = node.children, [name, mark] = top.children;
  node.of = d;
  node.classList.toggle("moved", d.moved);
  set(name, d.name);
  set(mark, d.mark);
  set(says, `${d.says} ${d.range}`);
  if (isRange(d)) {
    const stops = d.choices.length;
    input.min = stops ? 0 : d.low; input.max = stops ? stops - 1 : d.high; input.step = stops ? 1 : d.step;
  } else if (d.kind === "name") {
    keyed(input, d.choices, (c) => c, (c) => { const o = el("option", "", c); o.value = c; return o; }, () => {});
  }
  write(node, my.held.has(d.name) ? my.held.get(d.name).value : d.value);
}

function read(node) {
  const d = node.of, input = node.children[1];
  if (!isRange(d)) return input.value;
  return d.choices.length ? d.choices[Number(input.value)] : Number(input.value);
}

function write(node, value) {
  const d = node.of, input = node.children[1], told = node.querySelector("output");
  if (isRange(d)) {
    const at = d.choices.length ? d.choices.indexOf(value) : value, label = value.toLocaleString("en-US");
    if (Number(input.value) !== at) input.value = at;
    input.style.setProperty("--at", `${(100 * (input.value - input.min)) / (input.max - input.min || 1)}%`);
    input.setAttribute("aria-valuetext", `${label} ${d.unit}`);
    set(told, d.unit && d.unit !== "ratio" ? `${label} ${d.unit}` : label);
  } else if (input.value !== value && input.getRootNode().activeElement !== input) input.value = value;
}
