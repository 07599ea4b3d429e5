Object.assign(PATHS, {
  superseded: "M5 12h13M13 6l6 6-6 6", ended: "M7 7h10v10H7z", corrected: "M4 20l4-1L19 8l-3-3L5 16z", retracted: PATHS.cross,
  conflict: "M12 4l8 8-8 8-8-8z", settled: PATHS.check, undone: PATHS.recall, released: PATHS.up,
  plus: PATHS.growing, minus: PATHS.flat, all: "M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5",
});
const ROW = 27, ROOM = 92, DAY = 864e5;
const STEPS = [3600e3, 6 * 3600e3, DAY, 2 * DAY, 7 * DAY, 14 * DAY];
const MONTHS = [1, 3, 6, 12, 24, 60, 120, 600, 1200];

// Where the reader has zoomed to outlives the node: beside a fact it is drawn in another column.
const kept = (window.memoryWorkbenchSpans ||= {});

export default function ({ data: [data], parentElement, setTriggerValue }) {
  const root = rootOf(parentElement);
  if (!root.firstChild) build(root);
  const my = root.lanes;
  const asked = JSON.stringify([data.span, data.axis]);
  if (my.asked !== asked) { my.asked = asked; my.span = kept[asked] || [...data.span]; }
  Object.assign(my, { data, choose: (fact) => setTriggerValue("fact", fact) });
  my.draw();
  my.watch.observe(my.chart);
  return () => my.watch.disconnect();
}

function build(root) {
  const legend = el("div", "legend"), zoom = el("div", "zoom");
  const chart = el("div", "chart"), axis = el("div", "axis"), rules = el("div", "rules"), list = el("div");
  const twin = el("details", "twin"), scroll = el("div", "scroll");
  list.setAttribute("role", "list");
  axis.setAttribute("aria-hidden", "true"); rules.setAttribute("aria-hidden", "true");
  twin.append(el("summary"), scroll);
  const head = el("div", "head"), scroller = el("div", "scroller");
  head.append(zoom, axis); chart.append(head, rules, list); scroller.append(chart); root.append(scroller, legend, twin);
  const my = root.lanes = { chart, axis, rules, list, legend, twin, scroll, span: [0, 1], width: 0 };
  for (const [name, sign, act] of [["earlier", "previous", () => my.pan(-0.4)], ["later", "next", () => my.pan(0.4)], ["zoom_out", "minus", () => my.zoom(1.6)], ["zoom_in", "plus", () => my.zoom(1 / 1.6)], ["zoom_all", "all", () => my.all()]]) {
    const button = el("button"); button.type = "button"; button.dataset.name = name; button.append(icon(sign)); button.onclick = act;
    zoom.append(button);
  }
  my.zoom = (by, at = 0.5) => {
    const [a, b] = my.span, mid = a + (b - a) * at, wide = Math.min(Math.max((b - a) * by, 600e3), 400 * 365 * DAY);
    my.span = [mid - wide * at, mid + wide * (1 - at)];
    my.draw();
  };
  my.pan = (by) => { const [a, b] = my.span, d = (b - a) * by; my.span = [a + d, b + d]; my.draw(); };
  my.all = () => {
    const found = my.data.lanes.flatMap((l) => l.versions.flatMap((v) => v.bars.flatMap(([a, b]) => [a, b]))).filter((t) => t !== null);
    found.push(my.data.now[0]);
    const a = Math.min(...found), b = Math.max(...found), room = Math.max(b - a, 36e5) * 0.05;
    my.span = [a - room, b + room * 2];
    my.draw();
  };
  chart.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.shiftKey) return;
    event.preventDefault();
    const box = axis.getBoundingClientRect();
    if (event.shiftKey) my.pan((event.deltaY || event.deltaX) / 1200);
    else my.zoom(event.deltaY > 0 ? 1.2 : 1 / 1.2, Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)));
  }, { passive: false });
  my.watch = new ResizeObserver(() => { if (axis.clientWidth !== my.width) my.draw(); });
  twin.addEventListener("toggle", () => table(my));
  my.draw = () => draw(my, zoom);
}

function draw(my, zoom) {
  const d = my.data, wide = my.width = my.axis.clientWidth || 800, [a, b] = my.span;
  kept[my.asked] = my.span;
  const x = (t) => ((t - a) / (b - a)) * wide;
  for (const button of zoom.children) { const says = d.words[button.dataset.name]; button.title = says; button.setAttribute("aria-label", says); }
  legend(my.legend, d.legend);
  axisOf(my, x, wide);
  my.list.setAttribute("aria-label", d.words.label);
  keyed(my.list, d.lanes, (l) => l.key, () => {
    const node = el("div", "lane"), names = el("div", "names");
    node.setAttribute("role", "listitem");
    names.append(el("b", "line"), el("small", "line"));
    node.append(names, el("div", "track"));
    return node;
  }, (node, lane) => {
    const [title, sub] = node.firstChild.children, track = node.lastChild;
    set(title, lane.title); title.title = lane.title;
    set(sub, [lane.sub, lane.count > 1 ? "×" + lane.count : "", lane.older].filter(Boolean).join(" · "));
    const rows = packed(lane.versions, x, wide);
    track.style.height = Math.max(1, ...rows.map((r) => r.row + 1)) * ROW + "px";
    keyed(track, rows.length ? rows : [away(lane.versions[0], x)], (r) => r.v.fact + (r.away || ""), (r) => {
      if (r.away) { const hint = el("button", "away"); hint.type = "button"; hint.append(icon(r.away), el("span", "line")); return hint; }
      const node = el("button", "ver"); node.type = "button";
      const text = el("span", "text"), star = icon("mark");
      star.classList.add("star");
      text.append(star, el("span"));
      node.append(el("span", "segs"), text, el("span", "signs"));
      return node;
    }, (bar, r) => (r.away ? point(bar, r, my) : fill(bar, r, x, wide, my)));
  });
  set(my.twin.firstChild, d.words.table);
  if (my.twin.open) table(my);
}

// All that a lane holds lies outside: say on which side, and go there.
const away = (v, x) => ({ v, away: v.bars.every(([, b]) => b !== null && x(b) < 0) ? "previous" : "next" });
function point(hint, { v, away: side }, my) {
  hint.className = "away " + side;
  hint.title = v.says; hint.setAttribute("aria-label", v.says);
  set(hint.lastChild, v.label);
  hint.onclick = () => {
    const ends = v.bars.flat().filter((t) => typeof t === "number"), [a, b] = my.span;
    const low = Math.min(...ends), high = Math.max(...ends), wide = Math.max(b - a, (high - low) * 1.4), mid = (low + high) / 2;
    my.span = [mid - wide / 2, mid + wide / 2];
    my.draw();
    my.choose(v.fact);
  };
}

const inside = (px, wide) => Math.min(Math.max(px, 0), wide);

// Rows of a lane, so that no bar lies on another and each has room for some of its words. Oldest first, from above.
function packed(versions, x, wide) {
  const rows = [], ends = [];
  const found = versions.map((v) => {
    const from = Math.min(...v.bars.map(([a]) => (a === null ? -1 : x(a)))), to = Math.max(...v.bars.map(([, b]) => (b === null ? wide + 1 : x(b))));
    return { v, from, to, left: inside(from, wide), right: inside(to, wide) };
  }).filter((r) => r.to >= 0 && r.from <= wide).sort((p, q) => p.left - q.left || p.v.fact - q.v.fact);
  for (const r of found) {
    let row = ends.findIndex((e) => e <= r.left + 0.5);
    if (row < 0) row = ends.length;
    ends[row] = Math.max(r.right, r.left + ROOM);
    const before = rows.filter((p) => p.row === row).pop();
    if (before) before.room = r.left - before.left - 6;
    rows.push(Object.assign(r, { row, room: wide - r.left - 4 }));
  }
  return rows;
}

function fill(bar, r, x, wide, my) {
  const v = r.v, [segs, text, signs] = bar.children;
  bar.className = ["ver", v.state, v.layer, v.dim ? "dim" : "", v.chosen ? "chosen" : ""].join(" ");
  bar.style.left = r.left + "px"; bar.style.top = r.row * ROW + 1 + "px"; bar.style.width = Math.max(r.right - r.left, 4) + "px";
  bar.title = v.says; bar.setAttribute("aria-label", v.says); bar.setAttribute("aria-pressed", String(v.chosen));
  bar.onclick = () => my.choose(v.fact);
  keyed(segs, v.bars.map((b, i) => [i, ...b]), (b) => b[0], () => el("span"), (seg, [, from, to, kind]) => {
    const left = from === null ? 0 : inside(x(from), wide), right = to === null ? wide : inside(x(to), wide);
    seg.className = "seg " + kind + (to === null ? " open" : "") + (from === null || x(from) < 0 ? " begun" : "");
    seg.style.left = left - r.left + "px"; seg.style.width = Math.max(right - left, 3) + "px";
  });
  set(text.lastChild, v.label);
  text.firstChild.style.display = v.important ? "" : "none";
  // A mark at the end of a bar stands in it, for the next value begins there.
  const inner = (px) => (r.right - r.left >= 26 && Math.abs(px - r.right) < 2 ? px - 9 : px);
  const marks = v.marks.map((m) => ({ ...m, px: m.at === null ? 0 : inner(x(m.at)) })).filter((m) => m.px >= -1 && m.px <= wide + 1);
  const at = {};
  for (const m of marks) { const spot = Math.round(m.px / 14); m.nth = at[spot] = (at[spot] ?? -1) + 1; }
  const shown = marks.filter((m) => m.nth < 3), first = shown.filter((m) => m.px - r.left < 20);
  const next = Math.min(...shown.map((m) => m.px - r.left - 12).filter((px) => px >= 8), r.room), width = v.label.length * 7 + 12;
  // Words stand after the marks at the beginning, and before the next one, or after that where they would not fit.
  const left = next < r.room && next - first.length * 15 < Math.min(width, 60) ? next + 20 : first.length ? Math.max(...first.map((m) => Math.max(m.px - r.left, 8) + 15 * m.nth)) + 5 : 0;
  text.style.left = left + "px";
  text.classList.toggle("beyond", left > next);
  text.style.maxWidth = Math.max(0, (left > next ? r.room : next) - left) + "px";
  keyed(signs, shown, (m) => m.change + m.kind, (m) => { const node = el("span", "sign " + m.kind); node.append(icon(m.kind)); return node; }, (node, m) => {
    node.title = m.says;
    const px = m.px - r.left, back = r.right - r.left - px < 10 && px > 30;
    node.style.left = Math.max(px, 8) + (back ? -15 : 15) * m.nth + "px";
  });
}

function legend(node, items) {
  keyed(node, items, ([kind, name]) => kind + name, ([kind, name]) => {
    const row = el("span"), sample = kind === "mark" ? el("i", "sign " + name) : el("i", "ver " + (kind === "state" ? name + " semantic" : "quiet " + name));
    if (kind === "mark") sample.append(icon(name)); else sample.append(el("i", "seg " + (name === "retracted" ? "once" : name === "quarantined" ? "never" : "on")));
    sample.setAttribute("aria-hidden", "true");
    row.append(sample, el("b", ""));
    row.lastChild.style.fontWeight = 480;
    return row;
  }, (row, [, , says]) => set(row.lastChild, says));
}

// ── the axis ──
const offsets = {};
function offset(t, zone) {
  const format = offsets[zone] ||= new Intl.DateTimeFormat("en-US", { timeZone: zone, hourCycle: "h23", year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric" });
  const p = Object.fromEntries(format.formatToParts(new Date(t)).map((each) => [each.type, Number(each.value)]));
  return Date.UTC(p.year, p.month - 1, p.day, p.hour, p.minute, p.second) - Math.floor(t / 1000) * 1000;
}
function ticks([a, b], wide, zone) {
  const least = ((b - a) / wide) * 96, found = [];
  const step = STEPS.find((s) => s >= least);
  if (step) {
    const base = offset(a, zone);
    for (let t = Math.ceil((a + base) / step) * step; t - base <= b; t += step) found.push(t - (step >= DAY ? offset(t - base, zone) : base));
    return [found, step < DAY ? "hour" : "day"];
  }
  const months = MONTHS.find((m) => m * 30.4 * DAY >= least) || MONTHS.at(-1), from = new Date(a);
  for (let i = Math.ceil((from.getUTCFullYear() * 12 + from.getUTCMonth()) / months) * months; found.length < 60; i += months) {
    const local = new Date(0); local.setUTCFullYear(Math.floor(i / 12), i % 12, 1); local.setUTCHours(0, 0, 0, 0);
    const t = local.getTime() - offset(local.getTime(), zone);
    if (t > b) break;
    if (t >= a) found.push(t);
  }
  return [found, months < 12 ? "month" : "year"];
}
const FORMS = { hour: { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" }, day: { day: "numeric", month: "short" }, month: { month: "short", year: "numeric" }, year: { year: "numeric" } };

function axisOf(my, x, wide) {
  const d = my.data, [found, unit] = ticks(my.span, wide, d.zone);
  const form = new Intl.DateTimeFormat(d.language, { ...FORMS[unit], timeZone: d.zone }), year = new Intl.DateTimeFormat(d.language, { year: "numeric", timeZone: d.zone });
  const full = new Intl.DateTimeFormat(d.language, { ...FORMS.day, year: "numeric", timeZone: d.zone });
  let last = "";
  const marks = [["now", ...d.now], ...(d.cut ? [["cut", ...d.cut]] : [])].map(([kind, at, says]) => ({ kind, says, px: x(at) })).filter((m) => m.px >= 0 && m.px <= wide);
  const labels = found.map((t) => ({ key: t, kind: "", px: x(t) }));
  const clear = labels.filter((l) => l.px >= 0 && l.px <= wide && marks.every((m) => Math.abs(m.px - l.px) > 92));
  for (const l of clear) {
    const now = year.format(l.key);
    l.says = (unit === "day" && now !== last ? full : form).format(l.key);
    last = now;
  }
  keyed(my.axis, [...clear, ...marks.map((m) => ({ ...m, key: m.kind }))], (l) => l.key, () => el("span"), (node, l) => {
    const edge = l.kind ? 70 : 40, side = l.px < edge ? " right" : l.px > wide - edge ? " left" : "";
    node.className = (l.kind ? "name " + l.kind : "") + side;
    set(node, l.says);
    node.style.left = l.px + "px";
  });
  keyed(my.rules, [...labels.filter((l) => l.px >= 0 && l.px <= wide), ...marks.map((m) => ({ ...m, key: m.kind }))], (l) => l.key, () => el("i"), (node, l) => { node.className = l.kind; node.style.left = l.px + "px"; });
}

// ── the same as a table, made when it is opened ──
function table(my) {
  if (!my.twin.open) return;
  const d = my.data, head = el("tr");
  for (const name of d.heads) head.append(el("th", "", name));
  const body = d.lanes.flatMap((l) => l.versions).flatMap((v) => v.cells).map((cells) => {
    const row = el("tr");
    for (const cell of cells) row.append(el("td", "", cell));
    return row;
  });
  const node = el("table"), top = el("thead"), rest = el("tbody");
  top.append(head); rest.append(...body); node.append(top, rest);
  my.scroll.replaceChildren(node);
}
