// The words of a change are made when it is first opened.
const spans = (box, pieces, leave) => {
  box.replaceChildren(...pieces.filter(([kind]) => kind !== leave).map(([kind, text]) => el("span", kind, text)));
};
const fill = (node, c, layout) => {
  const box = node.querySelector(".words-diff");
  box.className = "words-diff mono " + layout;
  if (layout !== "beside") return spans(box, c.pieces);
  const left = el("div"), right = el("div");
  spans(left, c.pieces, "new");
  spans(right, c.pieces, "gone");
  box.replaceChildren(left, right);
};
export default function ({ data: [data], parentElement }) {
  const root = rootOf(parentElement);
  if (!root.firstChild) root.append(el("div", "causes"), el("div", "empty"));
  const [list, empty] = root.children;
  list.setAttribute("role", "list");
  list.setAttribute("aria-label", data.label);
  empty.hidden = data.causes.length > 0;
  set(empty, data.empty);
  keyed(list, data.causes, (c) => c.key, (c) => {
    const node = el("section", "cause " + c.kind), head = el("header");
    node.setAttribute("role", "listitem");
    head.append(el("b"), el("span", "num dim"));
    node.append(head, el("div", "changes-of"));
    return node;
  }, (node, c) => {
    set(node.querySelector("header b"), c.title);
    set(node.querySelector("header .num"), c.tokens);
    keyed(node.querySelector(".changes-of"), c.changes, (x) => x.key, (x) => {
      const row = el("details", "change " + x.kind), head = el("summary");
      head.append(el("span", "sign"), el("span", "tag"), el("span", "where"), el("span", "first"), el("span", "num dim"));
      row.append(head, el("div", "words-diff"));
      row.addEventListener("toggle", () => { if (row.open) fill(row, row.change, row.layout); });
      return row;
    }, (row, x) => {
      row.change = x; row.layout = data.layout;
      const [sign, tag, where, first, tokens] = row.querySelector("summary").children;
      set(sign, x.sign); sign.title = x.sign_label; sign.setAttribute("aria-label", x.sign_label);
      set(tag, x.name); tag.hidden = !x.name;
      set(where, x.section_label);
      set(first, (x.after || x.before).replace(/\s+/g, " ").slice(0, 200));
      set(tokens, x.tokens);
      if (row.open) fill(row, x, data.layout);
    });
  });
}
