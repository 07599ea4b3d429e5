export default function ({ data: [data], parentElement, setTriggerValue }) {
  const root = rootOf(parentElement);
  root.style.display = "none";
  const my = root.follow || (root.follow = start(root));
  my.data = data;
  my.fire = setTriggerValue;
  my.begin();
  my.check();
  return my.stop;
}

function start() {
  const my = { known: {}, source: null };
  my.check = () => {
    const now = my.known[my.data.stream];
    if (now > my.data.version && my.asked !== now) { my.asked = now; my.fire("moved", now); }
    const youngest = Math.max(0, ...Object.keys(my.known).map(Number));
    if (youngest > my.data.newest && my.met !== youngest) { my.met = youngest; my.fire("appeared", youngest); }
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
