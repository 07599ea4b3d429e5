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
export default function ({ data, parentElement }) {
  const root = rootOf(parentElement);
  if (!root.firstChild) {
    const button = el("button", "link"); button.type = "button";
    button.append(icon("link"), el("span"));
    const live = el("span", "unseen"); live.setAttribute("aria-live", "polite");
    root.append(button, live);
  }
  const [button, live] = root.children;
  button.title = data.says;
  if (!button.dataset.busy) set(button.lastChild, data.copy);
  button.onclick = async () => {
    await copy(location.href);
    button.dataset.busy = "1";
    set(button.lastChild, data.copied); set(live, data.copied);
    setTimeout(() => { delete button.dataset.busy; set(button.lastChild, data.copy); set(live, ""); }, 1600);
  };
}
