export default function ({ data: [data], parentElement }) {
  const root = rootOf(parentElement);
  if (!root.firstChild) root.append(el("div", "title words"), el("dl"), el("div", "chips"), el("div", "note words"));
  const [title, list, chips, note] = root.children;
  set(title, data.title);
  list.className = data.large ? "large" : "";
  keyed(list, data.pairs, ([name]) => name, () => {
    const node = el("div"); node.append(el("dt"), el("dd", "num")); return node;
  }, (node, [name, value]) => { set(node.firstChild, name); set(node.lastChild, value); node.lastChild.title = value; });
  keyed(chips, data.chips, (c) => c, () => el("span", "chip"), (node, c) => set(node, c));
  set(note, data.note);
}
