const SPACE = "http://www.w3.org/2000/svg";
const draw = (svg, card) => {
  const name = JSON.stringify(card.shape);
  if (svg.dataset.shape === name) return;
  svg.dataset.shape = name;
  const part = (d, cls) => { const path = document.createElementNS(SPACE, "path"); path.setAttribute("d", d); path.setAttribute("class", cls); return path; };
  svg.replaceChildren(...(card.bars ? [part(card.shape.line, "bars")] : [part(card.shape.area, "area"), part(card.shape.line, "line-of")]));
};
export default function ({ data: [data], parentElement }) {
  const root = rootOf(parentElement);
  if (!root.firstChild) root.append(el("div", "cards"));
  const cards = root.firstChild;
  cards.setAttribute("role", "list");
  cards.setAttribute("aria-label", data.label);
  keyed(cards, data.cards, (c) => c.name, () => {
    const card = el("div", "card"), row = el("div", "row"), svg = document.createElementNS(SPACE, "svg");
    card.setAttribute("role", "listitem");
    svg.setAttribute("viewBox", "0 0 100 30");
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("role", "img");
    row.append(el("span", "value num"), el("span", "change num"));
    card.append(el("div", "label line"), row, svg);
    return card;
  }, (card, c) => {
    card.title = c.title;
    set(card.querySelector(".label"), c.label);
    set(card.querySelector(".value"), c.value);
    const change = card.querySelector(".change");
    if (change.dataset.now !== c.change + c.tone) {
      change.dataset.now = c.change + c.tone;
      change.className = "change num " + c.tone;
      change.replaceChildren(...(c.change ? [icon(c.direction), el("span", "", c.change)] : []));
    }
    const svg = card.querySelector("svg:not(.icon)");
    svg.setAttribute("aria-label", `${c.label}: ${c.value}. ${c.course}`);
    svg.classList.value = "spark " + c.tone;
    draw(svg, c);
  });
}
