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
export default function ({ data: [data], parentElement }) {
  const root = rootOf(parentElement);
  if (!root.firstChild) {
    const words = el("div", "words-of"), side = el("div", "side");
    words.append(el("h1"), el("p", "line"));
    side.append(el("div", "badges"), linkButton());
    root.append(words, side);
  }
  set(root.querySelector("h1"), data.title);
  set(root.querySelector("p"), data.subtitle);
  root.querySelector("p").title = data.subtitle;
  keyed(root.querySelector(".badges"), data.badges, (b) => b.tone + b.label, (b) => {
    const node = el("span", "badge " + b.tone);
    node.append(icon(b.tone), el("span", "line", b.label));
    return node;
  }, (node, b) => { node.title = b.says; });
  const button = root.querySelector(".link"), label = button.lastChild;
  button.title = data.link.says;
  if (!button.dataset.busy) set(label, data.link.copy);
  button.onclick = async () => {
    await copy(location.href);
    button.dataset.busy = "1";
    set(label, data.link.copied);
    setTimeout(() => { delete button.dataset.busy; set(label, data.link.copy); }, 1600);
  };
}
