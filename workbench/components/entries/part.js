const GLYPHS = { correct: "M4 20h4L19 9l-4-4L4 16zM13 7l4 4", release: "M5 12.5l4.5 4.5L19 7", undo: "M9 14 4 9l5-5M4 9h10a5.5 5.5 0 0 1 0 11h-3", forget: "M4 12s3-6 8-6 8 6 8 6-3 6-8 6-8-6-8-6zM5 19 19 5", erase: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13" };
const glyph = (name) => { const svg = icon("quiet"); svg.firstChild.setAttribute("d", GLYPHS[name]); return svg; };
const editor = (row, line, words, fire) => {
  const form = el("form", "edit"), box = el("input", "value"), side = el("div", "row");
  box.type = "text"; box.value = line.value; box.maxLength = 1000; box.dir = "auto"; box.setAttribute("aria-label", words.value);
  const since = el("label", "since"), tick = el("input"); tick.type = "checkbox";
  since.append(tick, el("span", "", words.until_now));
  const save = el("button", "act main", words.save), cancel = el("button", "act", words.cancel);
  save.type = "submit"; cancel.type = "button";
  side.append(since, save, cancel); form.append(box, side);
  const close = () => { form.remove(); row.classList.remove("editing"); row.querySelector(".correct")?.focus(); };
  form.onsubmit = (event) => {
    event.preventDefault();
    const value = box.value.trim();
    if (!value) { box.focus(); return; }
    if (value !== line.value.trim()) fire({ do: "correct", key: line.key, value, until_now: tick.checked });
    close();
  };
  cancel.onclick = close;
  form.onkeydown = (event) => { if (event.key === "Escape") { event.stopPropagation(); close(); } };
  row.classList.add("editing");
  row.querySelector(".body").append(form);
  box.focus(); box.select();
};
const ORDER = ["release", "correct", "undo", "forget", "erase"];
export default function ({ data: [data], parentElement, setTriggerValue }) {
  const root = rootOf(parentElement), words = data.words;
  const fire = (act) => setTriggerValue("act", act);
  root.setAttribute("aria-label", data.label);
  root.setAttribute("role", "region");
  keyed(root, data.groups, (g) => g.name, () => {
    const node = el("section"), head = el("header");
    head.append(el("h2"), el("span", "count num"));
    node.append(head, el("p", "says"), el("ul"));
    return node;
  }, (node, g) => {
    set(node.querySelector("h2"), g.title);
    set(node.querySelector(".count"), String(g.count));
    node.querySelector("header").hidden = !g.title;
    const says = node.querySelector(".says");
    set(says, g.says); says.hidden = !g.says;
    keyed(node.querySelector("ul"), g.lines, (l) => l.key, () => {
      const row = el("li"), star = el("button", "star"), body = el("div", "body"), acts = el("div", "acts");
      star.type = "button"; star.append(icon("mark"));
      const quote = el("div", "quote");
      quote.append(el("span", "who"), el("q", "words"));
      body.append(el("div", "text words"), quote, el("div", "about"));
      for (const name of ORDER) {
        const act = el("button", "act " + name); act.type = "button";
        act.append(glyph(name), el("span", "", words[name]));
        acts.append(act);
      }
      row.append(star, body, acts);
      return row;
    }, (row, l) => {
      row.classList.toggle("quiet", l.quiet);
      row.classList.toggle("plain", !l.acts.includes("mark"));
      const star = row.querySelector(".star");
      star.hidden = !l.acts.includes("mark") && !l.marked;
      star.disabled = !l.acts.includes("mark");
      star.classList.toggle("on", l.marked);
      star.title = l.marked ? words.unmark : words.mark;
      star.setAttribute("aria-label", star.title + ": " + l.text);
      star.setAttribute("aria-pressed", String(l.marked));
      star.onclick = () => fire({ do: "mark", key: l.key, important: !l.marked });
      set(row.querySelector(".text"), l.text);
      row.querySelector(".quote").hidden = !l.quote;
      set(row.querySelector(".who"), l.quoted);
      set(row.querySelector("q"), l.quote);
      keyed(row.querySelector(".about"), l.about, (a) => a, () => el("span"), (node_, a) => set(node_, a));
      for (const name of ORDER) {
        const act = row.querySelector(".act." + name);
        act.hidden = !l.acts.includes(name);
        set(act.lastChild, words[name]);
        act.title = words[name + ".says"] || words[name];
        act.setAttribute("aria-label", words[name] + ": " + l.text);
        act.onclick = name === "correct"
          ? () => { if (!row.classList.contains("editing")) editor(row, l, words, fire); }
          : () => fire({ do: name, key: l.key });
      }
    });
  });
}
