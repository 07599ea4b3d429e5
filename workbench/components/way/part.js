export default function ({ data: [data], parentElement }) {
  const root = rootOf(parentElement);
  if (!root.firstChild) {
    const strip = el("div", "strip"); strip.setAttribute("role", "img");
    strip.append(el("div", "spans"), el("b"));
    root.append(strip, el("div", "ends"), el("ol"), el("div", "more"));
    root.children[1].append(el("span"), el("span"));
  }
  const [strip, ends, list, more] = root.children;
  strip.setAttribute("aria-label", data.alt);
  keyed(strip.firstChild, data.spans, (s) => s.left, () => el("i"), (node, s) => {
    node.style.left = s.left + "%"; node.style.width = s.width + "%"; node.title = s.title;
  });
  strip.lastChild.style.left = data.at + "%"; strip.lastChild.title = data.at_says;
  set(ends.firstChild, data.first); set(ends.lastChild, data.last);
  keyed(list, data.rows, (r) => r.key, () => {
    const row = el("li"); row.append(el("span", "glyph"), el("a"), el("span", "what"), el("span", "where mono"), el("span", "cause words")); return row;
  }, (row, r) => {
    const [glyph, turn, what, where, cause] = row.children;
    row.className = r.entered ? "entered" : "left";
    glyph.replaceChildren(icon(r.entered ? "next" : "evict"));
    set(turn, r.turn); turn.setAttribute("href", r.href);
    set(what, r.what); set(where, r.where); set(cause, r.cause);
  });
  set(more, data.more);
}
