const PAUSE_MS = 45;
const KEYS = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };

export default function ({ data: [data], parentElement, setTriggerValue }) {
  const root = rootOf(parentElement);
  if (!root.firstChild) build(root, data);
  const my = root.walk;
  Object.assign(my, { data, send: (turn) => setTriggerValue("turn", turn) });
  document.addEventListener("keydown", my.onkey);
  const [first, previous, slider, next, last, text, keys] = my.nodes;
  for (const [node, name] of [[first, "first"], [previous, "previous"], [next, "next"], [last, "last"]]) {
    node.title = data.words[name];
    node.setAttribute("aria-label", data.words[name]);
  }
  slider.min = 1; slider.max = Math.max(1, data.turns);
  const jump = text.querySelector(".jump");
  jump.max = slider.max; jump.placeholder = data.words.go; jump.setAttribute("aria-label", data.words.go); jump.hidden = data.turns < 2;
  slider.setAttribute("aria-label", data.words.label);
  set(keys.querySelector(".k1"), data.words.previous + " / " + data.words.next);
  set(keys.querySelector(".k2"), data.words.ten);
  set(keys.querySelector(".k3"), data.words.first + " / " + data.words.last);
  if (my.asked === null || my.asked === data.turn) { my.asked = null; my.show(data.turn); }
  else my.show(my.at);
  return () => document.removeEventListener("keydown", my.onkey);
}

function build(root, data) {
  const button = (name) => { const b = el("button", "step"); b.type = "button"; b.append(icon(name)); return b; };
  const first = button("first"), previous = button("previous"), next = button("next"), last = button("last");
  const slider = el("input"); slider.type = "range"; slider.step = 1; slider.dataset.scrubber = "1";
  const text = el("div", "where num"), keys = el("div", "keys");
  const jump = el("input", "jump num"); jump.type = "number"; jump.min = jump.step = 1;
  text.append(el("b"), el("span", "of"), el("button", "newer"), jump);
  text.querySelector(".newer").type = "button";
  for (const [cap, cls] of [["← →", "k1"], ["⇧ ← →", "k2"], ["Home End", "k3"]]) keys.append(el("kbd", "", cap), el("span", cls));
  const bar = el("div", "walk");
  bar.append(first, previous, slider, next, last);
  const foot = el("div", "foot"); foot.append(text, keys);
  root.append(bar, foot);
  const my = root.walk = { nodes: [first, previous, slider, next, last, text, keys], at: data.turn, asked: null, timer: 0 };

  my.show = (turn) => {
    const d = my.data;
    my.at = turn;
    slider.value = turn;
    slider.style.setProperty("--at", d.turns > 1 ? ((turn - 1) / (d.turns - 1)) * 100 + "%" : "100%");
    const label = d.where.replace("{turn}", turn);
    set(text.children[0], label);
    slider.setAttribute("aria-valuetext", label);
    set(text.children[1], turn === d.turn ? d.step : "…");
    const newer = text.children[2];
    newer.hidden = turn >= d.turns;
    set(newer, turn === d.turn ? d.newer : "…");
    first.disabled = previous.disabled = turn <= 1;
    next.disabled = last.disabled = turn >= d.turns;
  };
  // Moves at once here; the page follows when the reader pauses.
  my.go = (turn, pause = PAUSE_MS) => {
    turn = Math.max(1, Math.min(my.data.turns, turn));
    if (turn === my.at) return;
    my.asked = turn;
    my.show(turn);
    clearTimeout(my.timer);
    my.timer = setTimeout(() => my.send(turn), pause);
  };
  my.onkey = (event) => {
    const by = KEYS[event.key];
    if (by === undefined || isTaken(event)) return;
    if (!Number.isFinite(by) && !event.composedPath().some((n) => n.dataset && n.dataset.scrubber) && document.activeElement !== document.body) return;
    event.preventDefault();
    my.go(my.at + by * (event.shiftKey ? 10 : 1));
  };
  jump.addEventListener("change", () => { if (jump.checkValidity() && jump.value) my.go(Number(jump.value), 0); jump.value = ""; });
  slider.addEventListener("input", () => my.go(Number(slider.value), 140));
  first.onclick = () => my.go(1, 0);
  previous.onclick = () => my.go(my.at - 1);
  next.onclick = () => my.go(my.at + 1);
  last.onclick = () => my.go(my.data.turns, 0);
  text.querySelector(".newer").onclick = () => my.go(my.data.turns, 0);
}
