const copy = async (text) => {
  if (navigator.clipboard && window.isSecureContext) {
    try { await navigator.clipboard.writeText(text); return; } catch (refused) { /* not allowed here: the old way */ }
  }
  const box = el("textarea", "", text);
  document.body.append(box);
  box.select();
  document.execCommand("copy");
  box.remove();
};
const linkButton = () => {
  const button = el("button", "link"); button.type = "button";
  const label = el("span"); label.setAttribute("aria-live", "polite");
  button.append(icon("link"), label);
  return button;
};
// Streamlit opens a page by its name alone, and its scope comes into the address a moment later: that is one step of
// Back, not two, as long as nobody did anything in between.
if (!history.pushState.fills) {
  const push = history.pushState;
  let isBare = false;
  for (const done of ["pointerdown", "keydown"]) addEventListener(done, () => { isBare = false; }, true);
  history.pushState = (state, title, url) => {
    const to = new URL(url ?? "", location.href), isHere = to.pathname === location.pathname;
    if (isHere && isBare) { isBare = false; history.replaceState(state, title, url); return; }
    isBare = !isHere && !to.search;
    push.call(history, state, title, url);
  };
  history.pushState.fills = true;
}
const STEPS = { ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9 };
// What a key presses: the first that is there, can be seen and may be pressed, also inside of parts.
const places = (top = document) => [top, ...[...top.querySelectorAll("*")].filter((n) => n.shadowRoot).flatMap((n) => places(n.shadowRoot))];
const pressed = (finds) => {
  const roots = places();
  for (const find of finds) for (const root of roots) for (const node of root.querySelectorAll(find))
    if (!node.disabled && node.checkVisibility()) return node;
};
const press = (key) => {
  const node = pressed(key.finds);
  if (!node) return false;
  node.focus();
  if (node.matches("input")) node.select(); else node.click();
  return true;
};
// While the page is drawn anew, what a key presses may be there no more, or not yet: then the key waits, three seconds
// at the most.
const isDrawn = () => ["notRunning", undefined].includes(document.querySelector("[data-testid=stApp]")?.dataset.testScriptState);
const once = (isReady, act, looks = 40) => { if (looks && !isReady()) setTimeout(() => once(isReady, act, looks - 1), 75); else act(); };
const legendOf = (root) => {
  const button = el("button", "link keys"), box = el("dialog"), head = el("header"), close = el("button", "close"), list = el("dl");
  button.type = close.type = "button";
  button.append(el("kbd", "", "?"), el("span"));
  close.append(icon("cross")); head.append(el("h2"), close); box.append(head, list, el("p", "note"));
  const my = { button, box };
  my.open = () => {
    const d = my.data;
    set(head.firstChild, d.title); set(box.lastChild, d.note);
    close.title = d.close; close.setAttribute("aria-label", d.close);
    keyed(list, d.keys, (k) => k.caps, () => { const row = el("div", "row"); row.append(el("dt"), el("dd")); return row; }, (row, k) => {
      row.firstChild.replaceChildren(...k.caps.split(" ").map((cap) => el("kbd", "", cap)));
      set(row.lastChild, k.says);
      row.classList.toggle("idle", k.finds.length > 0 && !pressed(k.finds));
    });
    if (!box.open) box.showModal();
  };
  button.onclick = my.open;
  close.onclick = () => box.close();
  box.onclick = (event) => { if (event.target === box) box.close(); };
  my.onkey = (event) => {
    if (event.key === "?" && box.open) { event.preventDefault(); box.close(); return; }
    if (event.defaultPrevented || isTaken(event)) return;
    const by = my.data.walks ? STEPS[event.key] : undefined;
    if (event.key === "?") my.open();
    else if (by !== undefined && (Number.isFinite(by) && Math.abs(by) === 1 || document.activeElement === document.body)) {
      my.by = (my.by || 0) + by * (event.shiftKey ? 10 : 1);
      clearTimeout(my.timer);
      my.timer = setTimeout(() => { my.walk(my.by); my.by = 0; }, 60);
    } else {
      const key = event.shiftKey ? undefined : my.data.keys.find((k) => k.caps === event.key && k.finds.length);
      if (!key) return;
      if (key.waits && !isDrawn()) once(isDrawn, () => press(key));
      else if (!press(key)) return;
    }
    event.preventDefault();
  };
  return my;
};
export default function ({ data: [data], parentElement, setTriggerValue }) {
  const root = rootOf(parentElement);
  if (!root.firstChild) {
    const words = el("div", "words-of"), side = el("div", "side");
    words.append(el("h1"), el("p", "line"));
    root.legend = legendOf(root);
    side.append(el("div", "badges"), linkButton(), root.legend.button);
    root.append(words, side, root.legend.box);
  }
  const my = root.legend;
  my.data = data.legend;
  my.walk = (by) => setTriggerValue("walk", by);
  my.button.title = data.legend.title;
  set(my.button.lastChild, data.legend.open);
  document.addEventListener("keydown", my.onkey);
  set(root.querySelector("h1"), data.title);
  set(root.querySelector("p"), data.subtitle);
  root.querySelector("p").title = data.subtitle;
  keyed(root.querySelector(".badges"), data.badges, (b) => b.tone + b.label, (b) => {
    const node = el("span", "badge " + b.tone);
    node.append(icon(b.tone), el("span", "line", b.label));
    return node;
  }, (node, b) => { node.title = b.says; });
  const button = root.querySelector(".link"), label = button.lastChild, gone = () => document.removeEventListener("keydown", my.onkey);
  button.hidden = !data.link;
  if (!data.link) return gone;
  button.title = data.link.says;
  if (!button.dataset.busy) set(label, data.link.copy);
  button.onclick = async () => {
    await copy(location.href);
    button.dataset.busy = "1";
    set(label, data.link.copied);
    setTimeout(() => { delete button.dataset.busy; set(label, data.link.copy); }, 1600);
  };
  return gone;
}
