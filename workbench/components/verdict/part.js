export default function ({ data: [data], parentElement }) {
  const root = rootOf(parentElement);
  if (!root.firstChild) {
    const body = el("div", "body"); body.append(el("div", "title words"), el("div", "says words"), el("dl"));
    root.append(el("span", "glyph"), body);
  }
  const [glyph, body] = root.children, [title, says, list] = body.children;
  root.className = "root " + data.tone;
  root.setAttribute("role", "status");
  glyph.replaceChildren(icon({ ok: "check", warn: "error", no: "cross" }[data.tone]));
  set(title, data.title); set(says, data.says);
  keyed(list, data.pairs, ([name]) => name, () => { const node = el("div"); node.append(el("dt"), el("dd", "words")); return node; },
    (node, [name, value]) => { set(node.firstChild, name); set(node.lastChild, value); });
}
