export default function ({ data: [data], parentElement, setTriggerValue }) {
  const root = rootOf(parentElement);
  if (!root.firstChild) root.append(el("div", "chips"), el("div", "empty"));
  const [chips, empty] = root.children;
  chips.setAttribute("role", "group");
  chips.setAttribute("aria-label", data.label);
  empty.hidden = data.rows.length > 0;
  set(empty, data.empty);
  keyed(chips, data.rows, (r) => r.name, () => {
    const chip = el("span", "chip"), read = el("button", "read"), back = el("button", "back");
    read.type = back.type = "button";
    read.append(el("span", "name mono"), el("span", "star"), el("span", "keys"));
    read.querySelector(".star").append(icon("mark"));
    back.append(icon("recall"));
    chip.append(read, back);
    return chip;
  }, (chip, r) => {
    const [read, back] = chip.children;
    chip.className = "chip" + (r.range ? " range" : "") + (data.selected === r.page && r.page ? " sel" : "");
    set(read.querySelector(".name"), r.name);
    set(read.querySelector(".keys"), r.keywords.join(" · "));
    read.querySelector(".star").hidden = !r.marked;
    read.title = r.title;
    read.disabled = !r.page;
    read.setAttribute("aria-label", `${r.name}: ${r.keywords.join(", ")}. ${r.title}`);
    read.onclick = () => setTriggerValue("page", r.page);
    back.hidden = !data.may_recall;
    back.title = r.recall;
    back.setAttribute("aria-label", r.recall);
    back.onclick = () => setTriggerValue("recall", r.name);
  });
}
