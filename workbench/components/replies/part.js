export default function ({ data: [data], parentElement }) {
  const root = rootOf(parentElement);
  if (!root.firstChild) root.append(el("div", "sides"));
  const list = root.firstChild;
  list.setAttribute("role", "group");
  list.setAttribute("aria-label", data.label);
  keyed(list, data.sides.map((s, n) => ({ ...s, key: String(n) })), (s) => s.key, () => {
    const side = el("article"), head = el("header");
    head.append(el("b"), el("span", "note")); side.append(head, el("div", "words")); return side;
  }, (side, s) => {
    set(side.querySelector("b"), s.title);
    set(side.querySelector(".note"), s.note);
    side.setAttribute("aria-label", s.title);
    side.lastChild.replaceChildren(...s.pieces.map(([kind, text]) => el(kind === "gone" ? "del" : kind === "new" ? "ins" : "span", kind, text)));
  });
}
