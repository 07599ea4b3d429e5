export default function ({ data: [data], parentElement, setTriggerValue }) {
  const root = rootOf(parentElement), w = data.words;
  if (!root.firstChild) {
    for (const kind of ["open", "settled"]) {
      const head = el("h4"), list = el("div", "list");
      head.append(el("span"), el("span", "count num")); list.setAttribute("role", "list");
      const box = el("section", kind); box.append(head, list, el("div", "note"));
      root.append(box);
    }
  }
  for (const kind of ["open", "settled"]) {
    const [head, list, note] = root.querySelector("section." + kind).children, items = data[kind];
    head.hidden = kind === "settled" && !items.length;
    set(head.firstChild, w[kind]); set(head.lastChild, items.length ? String(items.length) : "");
    set(note, kind === "open" ? (items.length ? data.more : w.none) : data.more_settled);
    list.setAttribute("aria-label", w[kind]);
    keyed(list, items, (d) => d.number, make, (node, d) => fill(node, d, kind === "open", data, setTriggerValue));
  }
}

function make() {
  const node = el("article", "case"), head = el("header"), foot = el("footer"), act = el("div", "act"), both = el("button", "do"), undo = el("button", "do");
  node.setAttribute("role", "listitem");
  both.type = undo.type = "button"; both.dataset.name = "both"; undo.dataset.name = "undo";
  head.append(el("b"), el("span"), el("span", "rule"));
  act.style.padding = 0; act.append(both, el("ul"));
  foot.append(act, el("span", "says"), undo, el("span", "refused"));
  node.append(head, el("div", "sides"), foot);
  return node;
}

function fill(node, d, open, data, fire) {
  const w = data.words, [why, found, rule] = node.firstChild.children, [act, says, undo, refused] = node.lastChild.children;
  set(why, d.why); set(found, d.found); set(rule, d.rule); rule.hidden = !d.rule;
  const may = open && data.may_act;
  keyed(node.children[1], d.sides, (s) => s.fact, makeSide, (side, s) => {
    const [top, text, quotes, box] = side.children, [name, since, would] = top.children, [keep, list] = box.children;
    side.classList.toggle("lost", !open && !s.won);
    set(name, s.name); name.title = w.show; name.onclick = () => fire("fact", s.fact);
    set(since, s.since);
    set(would, open ? w.would : s.won ? w.holds : w.lost); would.hidden = open ? !s.would : !s.won;
    set(text, s.text);
    keyed(quotes, s.quotes, (q) => q.key, makeQuote, fillQuote);
    box.hidden = !may;
    set(keep, w.keep); keep.className = "do" + (s.would ? " rule" : ""); keep.setAttribute("aria-label", w.keep + ": " + s.name + " " + s.text);
    keep.onclick = () => fire("settle", [d.number, s.fact]);
    keyed(list, s.effects, (e) => e, () => el("li"), (item, e) => set(item, e));
  });
  act.hidden = !may;
  set(act.firstChild, w.both); act.firstChild.onclick = () => fire("settle", [d.number, 0]);
  keyed(act.lastChild, d.both, (e) => e, () => el("li"), (item, e) => set(item, e));
  set(says, d.outcome);
  undo.hidden = open || !d.change || !data.may_act; set(undo, w.undo); undo.onclick = () => fire("undo", d.change);
  set(refused, d.refused); refused.hidden = !d.refused;
  node.lastChild.hidden = open && !may;
}

function makeSide() {
  const node = el("div", "side"), top = el("div", "line1"), name = el("button", "tag"), box = el("div", "act"), keep = el("button", "do");
  name.type = keep.type = "button";
  top.append(name, el("small", "num"), el("span", "would"));
  box.append(keep, el("ul"));
  node.append(top, el("div", "text words"), el("div", "quotes"), box);
  return node;
}
function makeQuote() {
  const node = el("blockquote"), p = el("div", "words"), meta = el("div", "meta");
  p.append(el("span"), el("mark"), el("span")); meta.append(el("a"), el("b"), el("span"));
  node.append(p, meta);
  return node;
}
function fillQuote(node, q) {
  const [before, mark, after] = node.firstChild.children, [link, place, meta] = node.lastChild.children;
  set(before, q.parts[0]); set(mark, q.parts[1] || q.gone); set(after, q.parts[2]);
  link.hidden = !q.href; place.hidden = Boolean(q.href);
  if (q.href) link.setAttribute("href", q.href); else link.removeAttribute("href");
  set(link, q.where); set(place, q.where); set(meta, q.meta);
}
