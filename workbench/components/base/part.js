// Shared by every part. Text is set as text; nothing here makes HTML from data.
const el = (tag, cls, text) => {
  const node = document.createElement(tag);
  if (cls) node.className = cls;
  if (text != null) node.textContent = text;
  return node;
};
const set = (node, text) => { if (node.textContent !== text) node.textContent = text; };

// One node per item, found again by its key: what stays is not made anew, so focus and motion survive.
const keyed = (parent, items, key, make, fill) => {
  const old = new Map([...parent.children].map((node) => [node.dataset.key, node]));
  let at = parent.firstElementChild;
  for (const item of items) {
    const name = String(key(item));
    let node = old.get(name);
    if (node) old.delete(name);
    else { node = make(item); node.dataset.key = name; }
    fill(node, item);
    if (node === at) at = at.nextElementSibling;
    else parent.insertBefore(node, at);
  }
  old.forEach((node) => node.remove());
};

const PATHS = {
  turn: "M4 5h16v11H10l-6 4z",
  evict: "M10 4H4v16h6M15 8l4 4-4 4M19 12H9",
  recall: "M9 14 4 9l5-5M4 9h10a5.5 5.5 0 0 1 0 11h-3",
  bookmark: "M6 3h12v18l-6-5-6 5z",
  model: "M12 3l2.2 6.8L21 12l-6.8 2.2L12 21l-2.2-6.8L3 12l6.8-2.2z",
  error: "M12 4 2.5 20h19zM12 10.5v4M12 17.3v.2",
  mark: "M12 3l2.7 5.8 6.3.7-4.7 4.3 1.3 6.2L12 16.9 6.4 20l1.3-6.2L3 9.5l6.3-.7z",
  quiet: "M12 9.2a2.8 2.8 0 1 0 .01 0z",
  link: "M10 14a4 4 0 0 0 6 .4l3-3a4.1 4.1 0 0 0-6-5.8l-1 1M14 10a4 4 0 0 0-6-.4l-3 3a4.1 4.1 0 0 0 6 5.8l1-1",
  previous: "M15 5l-7 7 7 7", next: "M9 5l7 7-7 7", first: "M18 5l-7 7 7 7M7 5v14", last: "M6 5l7 7-7 7M17 5v14",
  check: "M5 12.5l4.5 4.5L19 7", cross: "M6 6l12 12M18 6L6 18", up: "M12 19V5M6 11l6-6 6 6", down: "M12 5v14M6 13l6 6 6-6",
  pin: "M9 3h6l-1 7 4 4H6l4-4zM12 14v7", growing: "M12 5v14M5 12h14", guest: "M9 14 4 9l5-5M4 9h10a5.5 5.5 0 0 1 0 11h-3",
  resident: "M4 6h16v12H4z", gone: "M10 4H4v16h6M15 8l4 4-4 4M19 12H9", flat: "M5 12h14",
};
const icon = (name) => {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(space, "path");
  path.setAttribute("d", PATHS[name] || PATHS.quiet);
  svg.append(path);
  return svg;
};
const rootOf = (parent) => parent.querySelector(".root");
const TAKEN = "input,textarea,select,[contenteditable=true],[role=slider],[role=listbox],[role=option],[role=tab],[role=radio],[role=menu],[role=dialog] *,dialog *";
// Whether a key belongs to what has the focus: a field, a list; with a modifier it is the browser's.
const isTaken = (event) => event.ctrlKey || event.metaKey || event.altKey || event.isComposing ||
  event.composedPath().some((node) => node.matches && node.matches(TAKEN) && !node.dataset.scrubber);
