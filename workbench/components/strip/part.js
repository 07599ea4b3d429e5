export default function ({ data: [data], parentElement, setTriggerValue }) {
  const root = rootOf(parentElement);
  if (!root.firstChild) {
    const legend = el("div", "legend"), frame = el("div", "frame"), ticks = el("div", "ticks num");
    frame.setAttribute("role", "group");
    ticks.append(el("span"), el("span"));
    root.append(legend, frame, ticks);
    // Among the columns that changed the arrow keys walk.
    frame.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!by || isTaken(event)) return;
      const all = [...frame.querySelectorAll("button:not(:disabled)")];
      const next = all[all.indexOf(event.target) + by];
      if (next) { next.focus(); event.preventDefault(); event.stopPropagation(); }
    });
  }
  const [legend, frame, ticks] = root.children;
  frame.setAttribute("aria-label", data.label);
  keyed(legend, data.legend, (l) => l[0], () => { const n = el("span"); n.append(el("i"), el("span")); return n; },
    (n, l) => { n.firstChild.className = l[0]; set(n.lastChild, l[1]); });
  set(ticks.children[0], data.ticks[0] || ""); set(ticks.children[1], data.ticks[1] || "");
  keyed(frame, data.columns, (c) => c.key, () => {
    const b = el("button"); b.type = "button"; b.append(el("i", "before"), el("i", "after")); return b;
  }, (b, c) => {
    b.className = (c.changed ? "changed" : "same") + (c.chosen ? " chosen" : "");
    b.disabled = !c.changed;
    b.title = c.says;
    b.setAttribute("aria-label", c.says);
    b.setAttribute("aria-pressed", String(c.chosen));
    b.children[0].style.height = c.before + "%";
    b.children[1].style.height = c.after + "%";
    b.onclick = () => setTriggerValue("turn", c.turn);
  });
}
