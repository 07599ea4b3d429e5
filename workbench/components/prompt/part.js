// A section's words are made when it is first opened: a long prompt costs nothing while it is shut.
const fill = (box, parts) => {
  keyed(box, parts.map((p, i) => [i, p]), ([i]) => i, () => {
    const node = el("div", "part"), head = el("div", "head");
    head.append(el("b"), el("span", "tag"), el("span", "num dim"));
    node.append(head, el("div", "text words mono"), el("div", "calls"));
    return node;
  }, (node, [, p]) => {
    set(node.querySelector("b"), p.role);
    const tag = node.querySelector(".tag");
    tag.hidden = !p.page; set(tag, p.page);
    set(node.querySelector(".dim"), p.tokens);
    set(node.querySelector(".text"), p.text);
    keyed(node.querySelector(".calls"), p.calls, (c) => c, () => el("div", "call words mono"), (n, c) => set(n, c));
  });
};
export default function ({ data: [data], parentElement }) {
  const root = rootOf(parentElement);
  if (!root.firstChild) root.append(el("div", "sections"), el("div", "empty"));
  const [list, empty] = root.children;
  empty.hidden = data.sections.length > 0;
  set(empty, data.empty);
  keyed(list, data.sections, (s) => s.key, (s) => {
    const node = el("details", s.name), head = el("summary"), share = el("span", "share");
    share.append(el("i"));
    head.append(el("span", "swatch"), el("b"), el("span", "dim count"), share, el("span", "num dim percent"), el("span", "num tokens"));
    node.append(head, el("div", "parts"));
    node.open = s.open;
    node.addEventListener("toggle", () => { if (node.open) fill(node.querySelector(".parts"), node.rows); });
    return node;
  }, (node, s) => {
    node.rows = s.parts;
    set(node.querySelector("b"), s.label);
    set(node.querySelector(".count"), s.count);
    node.querySelector(".share i").style.width = s.share + "%";
    set(node.querySelector(".percent"), s.share_label);
    set(node.querySelector(".tokens"), s.tokens);
    if (node.open) fill(node.querySelector(".parts"), s.parts);
  });
}
