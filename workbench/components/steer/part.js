export default function ({ parentElement, setTriggerValue }) {
  const root = rootOf(parentElement);
  const my = root.steer || (root.steer = { source: null, stop: null });
  my.fire = (event) => setTriggerValue("goto", JSON.parse(event.data));
  if (my.source) return my.stop;
  // A tab in the background lets go of its connection: browsers allow six to one server.
  const listen = () => {
    if (document.hidden || my.source) return;
    my.source = new EventSource(new URL("steering/stream", document.baseURI));
    my.source.addEventListener("goto", (event) => my.fire(event));
  };
  const rest = () => { if (my.source) { my.source.close(); my.source = null; } };
  const turn = () => (document.hidden ? rest() : listen());
  my.stop = () => { document.removeEventListener("visibilitychange", turn); rest(); };
  document.addEventListener("visibilitychange", turn);
  listen();
  return my.stop;
}
