const PATIENCE_MS = 3000;

export default function ({ data: [data], parentElement, setTriggerValue }) {
  const root = rootOf(parentElement);
  root.style.display = "none";
  const my = root.follow || (root.follow = start(root));
  if (my.data && JSON.stringify(my.data) !== JSON.stringify(data)) my.patience = PATIENCE_MS;
  my.data = data;
  my.fire = setTriggerValue;
  my.begin();
  my.check();
  return my.stop;
}

function start(root) {
  const my = { known: {}, source: null, patience: PATIENCE_MS };
  // A rerun that is asked for while another one runs may get lost: what is not shown after a while is asked for again,
  // later each time, for asking cuts off a run that takes long.
  const ask = (what, now) => {
    if (my[what] === now) return;
    my[what] = now;
    my.fire(what, now);
    clearTimeout(my.again);
    my.again = setTimeout(() => {
      my.moved = my.appeared = undefined;
      if (root.isConnected) my.check();
    }, my.patience);
    my.patience *= 2;
  };
  my.check = () => {
    const moved = Object.entries(my.data.shown).map(([stream, version]) => [my.known[stream], version]);
    if (moved.some(([now, version]) => now > version)) ask("moved", moved.map(([now]) => now).join());
    const youngest = Math.max(0, ...Object.keys(my.known).map(Number));
    if (youngest > my.data.newest) ask("appeared", youngest);
  };
  const hear = (event) => { Object.assign(my.known, JSON.parse(event.data).versions); my.check(); };
  const listen = () => {
    if (document.hidden || my.source) return;
    my.source = new EventSource(new URL("events", document.baseURI));
    my.source.onmessage = hear;
  };
  const rest = () => { if (my.source) { my.source.close(); my.source = null; } };
  const turn = () => (document.hidden ? rest() : listen());
  my.begin = () => { document.addEventListener("visibilitychange", turn); listen(); };
  my.stop = () => { document.removeEventListener("visibilitychange", turn); rest(); };
  return my;
}
