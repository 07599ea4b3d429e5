export default function ({ data: [data], parentElement, setTriggerValue }) {
  const root = rootOf(parentElement);
  if (!root.firstChild) build(root);
  const part = (name) => root.querySelector("." + name), w = data.words;
  set(part("name"), data.name);
  keyed(part("badges"), data.badges, (b) => b[1], () => el("span"), (node, [kind, name, says]) => { node.className = "badge " + kind + " " + name; set(node, says); });
  const close = part("close"); close.title = w.close; close.setAttribute("aria-label", w.close); close.onclick = () => setTriggerValue("close", data.name);
  set(part("fact"), data.text); set(part("why"), data.why);
  for (const [name, title] of [["h-said", w.said], ["h-times", w.times], ["h-changes", w.changes], ["h-used", w.used], ["h-compare", w.compare]]) set(part(name), title);
  quotes(part("quotes"), data.quotes);
  set(part("more"), data.quotes.length ? data.more_quotes : w.unsaid);
  const times = data.beliefs.length ? [{ key: "head", valid: data.heads[0], recorded: data.heads[1], head: true }, ...data.beliefs] : [];
  keyed(part("times"), times, (b) => b.key, (b) => { const node = el("div"), tag = b.head ? "b" : "span"; node.append(el(tag), el(tag)); return node; }, (node, b) => {
    set(node.firstChild, b.valid); set(node.lastChild, b.recorded);
    for (const cell of node.children) cell.classList.toggle("off", !b.head && !b.on);
  });
  set(part("unbelieved"), data.beliefs.length ? "" : w.unbelieved);
  keyed(part("steps"), data.steps, (s) => s.change, () => {
    const node = el("div", "step"), body = el("div"), more = el("details"), act = el("button", "do");
    node.setAttribute("role", "listitem"); act.type = "button";
    more.append(el("summary"), el("ul"), act);
    body.append(el("div", "cause"), el("div", "says words"), el("div", "meta"), more, el("div", "refused"));
    node.append(body);
    return node;
  }, (node, s) => {
    const [cause, says, meta, more, refused] = node.firstChild.children, [summary, list, act] = more.children;
    node.classList.toggle("undone", Boolean(s.undone));
    set(cause, s.cause); set(says, s.why); set(meta, [s.meta, s.undone].filter(Boolean).join(" · "));
    more.hidden = !s.may_undo; if (!s.may_undo) more.open = false;
    set(summary, w.undo_of);
    keyed(list, s.effects, (e) => e, () => el("li"), (item, e) => set(item, e));
    set(act, w.undo); act.onclick = () => setTriggerValue("undo", s.change);
    set(refused, s.refused); refused.hidden = !s.refused;
  });
  keyed(part("uses"), data.uses, (u) => u.key, () => { const node = el("div", "meta"); node.append(el("a"), el("span")); return node; }, (node, u) => {
    node.firstChild.setAttribute("href", u.href); set(node.firstChild, u.says); set(node.lastChild, u.meta);
  });
  set(part("unused"), data.uses.length ? "" : w.unused);
  part("compare").hidden = !data.others.length;
  keyed(part("others"), data.others, (o) => o.fact, () => { const node = el("button", "other"); node.type = "button"; node.append(el("i"), el("span", "tag"), el("span", "line"), el("small", "num")); return node; }, (node, o) => {
    const [dot, name, text, since] = node.children;
    dot.className = o.state; set(name, o.name); set(text, o.text); set(since, o.since);
    node.setAttribute("aria-pressed", String(o.chosen));
    node.onclick = () => setTriggerValue("other", o.fact);
  });
  part("pieces").replaceChildren(...data.pieces.map(([kind, text]) => el("span", kind, text)));
}

function quotes(list, items) {
  keyed(list, items, (q) => q.key, () => {
    const node = el("blockquote"), p = el("p", "words"), meta = el("div", "meta");
    p.append(el("span"), el("mark"), el("span")); meta.append(el("a"), el("b"), el("span"));
    node.append(p, meta);
    return node;
  }, (node, q) => {
    const [before, mark, after] = node.firstChild.children, [link, place, meta] = node.lastChild.children;
    set(before, q.parts[0]); set(mark, q.parts[1] || q.gone); set(after, q.parts[2]);
    link.hidden = !q.href; place.hidden = Boolean(q.href);
    if (q.href) link.setAttribute("href", q.href); else link.removeAttribute("href");
    set(link, q.where); set(place, q.where); set(meta, q.meta);
  });
}

function build(root) {
  const top = el("div", "top"), close = el("button", "close"), badges = el("span", "badges");
  close.type = "button"; close.append(icon("cross")); badges.style.cssText = "display:inline-flex;gap:6px;flex-wrap:wrap";
  top.append(el("span", "tag name"), badges, close);
  const steps = el("div", "steps"); steps.setAttribute("role", "list");
  const compare = el("div", "compare");
  compare.append(el("h4", "h-compare"), el("div", "others"), el("div", "pieces mono"));
  root.append(top, el("div", "fact words"), el("div", "why words"),
    el("h4", "h-said"), el("div", "quotes"), el("div", "meta more"),
    el("h4", "h-times"), el("div", "times num"), el("div", "meta unbelieved"), compare,
    el("h4", "h-changes"), steps, el("h4", "h-used"), el("div", "uses"), el("div", "meta unused"));
}
