export default function ({ data: [data], parentElement, setTriggerValue }) {
  const root = rootOf(parentElement);
  root.setAttribute("aria-label", data.label);
  root.setAttribute("role", "region");
  keyed(root, data.sections, (s) => s.key, (s) => {
    const box = el("section"), head = el("h4"), list = el("ul");
    head.append(icon(s.icon), el("span"), el("span", "count num"), el("small"));
    box.append(head, list);
    return box;
  }, (box, s) => {
    const [head, list] = box.children;
    set(head.children[1], s.label); set(head.children[2], String(s.rows.length) + (s.note ? "+" : "")); set(head.children[3], s.note);
    list.setAttribute("aria-label", s.label);
    keyed(list, s.rows, (r) => r.key, () => {
      const item = el("li"), link = el("a"), head = el("span", "head"), words = el("span", "text");
      head.append(el("b", "mono"), el("span", "tag"), el("span", "where line"));
      words.append(el("span"), el("mark"), el("span"));
      link.append(head, words); item.append(link);
      return item;
    }, (item, r) => {
      const link = item.firstChild, [name, state, where] = link.firstChild.children, pieces = link.lastChild.children;
      set(name, r.name); name.hidden = !r.name;
      set(state, r.state); state.hidden = !r.state;
      set(where, r.where);
      r.words.forEach((words, i) => set(pieces[i], words));
      link.href = r.href;
      link.onclick = (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
        event.preventDefault();
        setTriggerValue("open", [s.key, r.key]);
      };
    });
  });
}
