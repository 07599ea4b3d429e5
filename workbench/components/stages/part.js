export default function ({ data: [data], parentElement, setTriggerValue }) {
  const root = rootOf(parentElement);
  if (!root.firstChild) root.append(el("ol"));
  const list = root.firstChild;
  list.setAttribute("aria-label", data.label);
  keyed(list, data.rows, (r) => r.name, () => {
    const node = el("li"), body = el("div", "body"), head = el("div", "head");
    head.append(el("span", "name"), el("span", "ask"), el("span", "unseen state"));
    const says = el("div", "says words"), more = el("ul");
    body.append(head, says, more);
    const dot = el("span", "dot"); dot.setAttribute("aria-hidden", "true");
    node.append(dot, body);
    return node;
  }, (node, r) => {
    node.className = r.mark;
    node.querySelector(".dot").replaceChildren(icon(r.mark === "ok" ? "check" : r.mark === "no" ? "cross" : "quiet"));
    set(node.querySelector(".name"), r.title);
    set(node.querySelector(".ask"), r.ask);
    set(node.querySelector(".state"), r.state);
    set(node.querySelector(".says"), r.says);
    keyed(node.querySelector("ul"), r.evidence, (e) => e.key, () => {
      const item = el("li", "evidence"), links = el("span", "links"), page = el("button", "mono"), turn = el("a");
      page.type = "button";
      links.append(page, turn);
      item.append(el("span", "words"), links);
      return item;
    }, (item, e) => {
      const [page, turn] = item.lastChild.children;
      set(item.firstChild, e.says);
      page.hidden = !e.page; set(page, e.page ? "p" + e.page : ""); page.title = e.page_says;
      page.onclick = () => setTriggerValue("page", e.page);
      turn.hidden = !e.href; set(turn, e.turn);
      if (e.href) turn.setAttribute("href", e.href); else turn.removeAttribute("href");
    });
  });
}
