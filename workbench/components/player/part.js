const SHAPES = { play: "M7 4.5 19 12 7 19.5z", pause: "M7 5h3.4v14H7zM13.6 5H17v14h-3.4z", step: "M6 5l8.5 7L6 19zM17 5v14" };

export default function ({ data: [data], parentElement, setTriggerValue }) {
  const root = rootOf(parentElement);
  if (!root.firstChild) build(root);
  const my = root.player;
  Object.assign(my, { data, send: (turn) => setTriggerValue("turn", turn) });
  document.addEventListener("keydown", my.onkey);
  my.show();
  my.drawn();
  return () => { document.removeEventListener("keydown", my.onkey); clearTimeout(my.timer); };
}

const shape = (name) => {
  const svg = icon("quiet");
  svg.firstChild.setAttribute("d", SHAPES[name]);
  svg.classList.add("solid");
  return svg;
};

function build(root) {
  const play = el("button", "play"), step = el("button", "one"), says = el("div", "says");
  play.type = step.type = "button";
  play.append(shape("play"), el("span"));
  step.append(shape("step"), el("span"));
  const speeds = el("div", "speeds");
  speeds.setAttribute("role", "radiogroup");
  const keys = el("div", "keys");
  keys.append(el("kbd", "", "Space"), el("span"));
  root.append(play, step, speeds, says, keys);
  const my = root.player = { playing: false, speed: 2, timer: 0, sent: 0, asked: 0 };

  my.show = () => {
    const d = my.data, atEnd = d.turn >= d.turns, w = d.words;
    const label = my.playing ? w.pause : atEnd ? w.again : w.play;
    set(play.lastChild, label);
    play.setAttribute("aria-pressed", String(my.playing));
    play.classList.toggle("on", my.playing);
    play.firstChild.firstChild.setAttribute("d", SHAPES[my.playing ? "pause" : "play"]);
    set(step.lastChild, w.step);
    step.disabled = atEnd || my.playing;
    set(says, d.says);
    set(keys.lastChild, `${w.play} / ${w.pause}`);
    speeds.setAttribute("aria-label", w["speed.label"]);
    keyed(speeds, d.speeds, (s) => s.value, (s) => {
      const b = el("button");
      b.type = "button";
      b.setAttribute("role", "radio");
      b.onclick = () => { my.speed = s.value; my.show(); my.drawn(); };
      return b;
    }, (b, s) => {
      set(b, s.label);
      b.setAttribute("aria-checked", String(s.value === my.speed));
    });
  };
  // The turn that was asked for is drawn: the next one follows when its time has come.
  my.drawn = () => {
    clearTimeout(my.timer);
    if (!my.playing) return;
    if (my.data.turn >= my.data.turns) { my.playing = false; my.show(); return; }
    const since = performance.now() - my.sent;
    my.timer = setTimeout(() => {
      const passed = (performance.now() - my.sent) / 1000;
      const by = my.sent ? Math.max(1, Math.min(50, Math.floor(passed * my.speed))) : 1;
      my.ask(my.data.turn + by);
    }, Math.max(0, 1000 / my.speed - since));
  };
  my.ask = (turn) => {
    my.sent = performance.now();
    my.send(Math.min(my.data.turns, turn));
  };
  my.toggle = () => {
    my.playing = !my.playing;
    my.sent = 0;
    my.show();
    if (my.playing && my.data.turn >= my.data.turns) my.ask(1);
    else my.drawn();
  };
  play.onclick = my.toggle;
  step.onclick = () => my.ask(my.data.turn + 1);
  my.onkey = (event) => {
    if (event.key !== " " || event.ctrlKey || event.metaKey || event.altKey || document.activeElement !== document.body) return;
    event.preventDefault();
    my.toggle();
  };
}
