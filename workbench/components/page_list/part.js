export default function ({ data: [data], parentElement, setTriggerValue }) {
  const root = rootOf(parentElement);
  if (!root.firstChild) root.append(el("div", "list"), el("div", "empty"));
  const [list, empty] = root.children;
  list.setAttribute("role", "group");
  list.setAttribute("aria-label", data.label);
  empty.hidden = data.rows.length > 0;
  set(empty, data.empty);
  keyed(list, data.rows, (r) => r.number, () => {
    const row = el("button", "row"); row.type = "button";
    const left = el("span", "head"), right = el("span", "foot"), heat = el("span", "heat"), state = el("span", "state");
    heat.append(el("i"));
    heat.setAttribute("role", "img");
    const title = el("span", "title");
    title.append(el("span", "star"), el("span", "line words-of"));
    left.append(el("span", "tag"), title, state);
    state.append(el("span", "glyph"), el("span"));
    right.append(el("span", "meta line"), heat, el("span", "tokens num"));
    row.append(left, right);
    return row;
  }, (row, r) => {
    const find = (name) => row.querySelector(name);
    set(find(".tag"), r.name);
    set(find(".words-of"), r.title);
    find(".words-of").classList.toggle("quiet", r.untitled);
    find(".words-of").title = r.title;
    set(find(".meta"), r.meta);
    const star = find(".star");
    star.hidden = !r.marked; star.title = r.marked;
    if (r.marked && !star.firstChild) star.append(icon("mark"));
    find(".heat").title = r.heat_label;
    find(".heat").setAttribute("aria-label", r.heat_label);
    find(".heat i").style.width = r.heat + "%";
    set(find(".tokens"), r.tokens);
    const state = find(".state");
    if (state.dataset.state !== r.state) {
      state.dataset.state = r.state;
      state.firstChild.replaceChildren(icon(r.state === "pinned" ? "pin" : r.state));
    }
    set(state.lastChild, r.state_label);
    state.title = r.state_title;
    row.setAttribute("aria-pressed", data.selected === r.number);
    row.onclick = () => setTriggerValue("page", r.number);
  });
}
