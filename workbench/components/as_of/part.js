const PAUSE_MS = 160;
export default function ({ data: [data], parentElement, setTriggerValue }) {
  const root = rootOf(parentElement);
  if (!root.firstChild) root.append(el("div", "axes"));
  keyed(root.firstChild, data.axes, (a) => a.name, make, (node, a) => {
    const my = node.my;
    my.send = (place) => setTriggerValue("moment", [a.name, place]);
    my.a = a;
    const [label, shown] = node.querySelector(".head").children, [back, on] = node.querySelector(".walk").children;
    set(label, a.label); label.title = a.says;
    for (const [button, name] of [[back, "previous"], [on, "next"], [node.querySelector(".to"), "now"]]) {
      button.title = data.words[name] + " · " + a.label; button.setAttribute("aria-label", button.title);
    }
    set(node.querySelector(".to"), data.words.now);
    const slider = node.querySelector("input");
    slider.max = a.stops.length; slider.setAttribute("aria-label", a.label + ". " + a.says); slider.disabled = !a.stops.length;
    clearTimeout(my.timer);
    my.show(a.at, a.own);
  });
}

function make() {
  const node = el("div", "axis"), head = el("div", "head"), walk = el("div", "walk"), slider = el("input"), to = el("button", "to");
  const back = el("button"), on = el("button");
  back.type = on.type = to.type = "button"; back.append(icon("previous")); on.append(icon("next"));
  slider.type = "range"; slider.min = 0; slider.step = 1;
  head.append(el("b"), el("span", "day num")); walk.append(back, on); node.append(head, walk, slider, to);
  const my = node.my = { timer: 0 };
  my.show = (at, own = "") => {
    const { stops, now } = my.a, isNow = at >= stops.length && !own;
    my.at = at;
    slider.value = at; slider.style.setProperty("--at", stops.length ? (at / stops.length) * 100 + "%" : "100%");
    const says = isNow ? now : own || stops[at][1];
    set(head.lastChild, says); slider.setAttribute("aria-valuetext", says);
    node.classList.toggle("past", !isNow);
    back.disabled = at <= 0; on.disabled = to.disabled = isNow;
  };
  my.go = (at, pause = PAUSE_MS) => {
    at = Math.max(0, Math.min(my.a.stops.length, at));
    my.show(at);
    clearTimeout(my.timer);
    my.timer = setTimeout(() => my.send(at >= my.a.stops.length ? "" : my.a.stops[at][0]), pause);
  };
  slider.addEventListener("input", () => my.go(Number(slider.value)));
  back.onclick = () => my.go(my.at - 1);
  on.onclick = () => my.go(my.at + 1);
  to.onclick = () => my.go(my.a.stops.length, 0);
  return node;
}
