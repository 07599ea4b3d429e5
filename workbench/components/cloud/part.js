export default function ({ data: [data], parentElement, setTriggerValue }) {
  const root = rootOf(parentElement);
  if (!root.firstChild) root.append(el("div", "cloud"), el("div", "empty"));
  const [cloud, empty] = root.children;
  cloud.setAttribute("role", "group");
  cloud.setAttribute("aria-label", data.label);
  cloud.hidden = !data.rows.length;
  empty.hidden = data.rows.length > 0;
  set(empty, data.empty);
  keyed(cloud, data.rows, (r) => r.page, () => {
    const mark = el("button"); mark.type = "button";
    mark.append(el("span", "sign"), el("span", "name"), el("span", "keys"), el("span", "pen", "✎"));
    mark.querySelectorAll(".sign, .pen").forEach((node) => node.setAttribute("aria-hidden", "true"));
    return mark;
  }, (mark, r) => {
    const chosen = data.selected === r.page;
    mark.className = `mark ${r.outcome}${chosen ? " sel" : ""}`;
    mark.style.setProperty("--s", r.size);
    set(mark.querySelector(".sign"), r.sign);
    set(mark.querySelector(".name"), r.name);
    set(mark.querySelector(".keys"), r.words);
    mark.querySelector(".pen").hidden = !r.edited;
    mark.title = r.title;
    mark.setAttribute("aria-label", r.says);
    mark.setAttribute("aria-pressed", String(chosen));
    mark.onclick = () => setTriggerValue("pick", r.page);
  });
}
