"use strict";
// Elements say in data attributes what they come from: g the user's line, n nodes of the program,
// c numbers in it, o statements, p program points, v variables, s forward or backward. What shares n (or o, where
// one of them has no n) is the same statement; what shares p or is v_bar of v, its derivative.
const words = (text) => new Set(text ? text.split(" ") : []);
const meets = (a, b) => { for (const x of a) if (b.has(x)) return true; return false; };
const all = [...document.querySelectorAll("[data-g], .box")].map((element) => {
  const { g = "", n, c, o, p, v, s = "forward" } = element.dataset;
  return { element, g, n: words(n), c: words(c), o: words(o), p: words(p), v: words(v), s,
           pane: element.closest(".pane"), band: element.classList.contains("band") };
});
const of = new Map(all.map((item) => [item.element, item]));
const edges = [...document.querySelectorAll(".canvas .edge[data-from]")];
const svg = document.querySelector(".canvas svg");
let pinned = null;

const bars = (names) => new Set([...names].map((name) => `${name}_bar`));

function kind(item, from) {
  if (item === from) return "hot";
  if (item.band) return item.g && item.g === from.g ? "warm" : "";
  if (item.n.size && from.n.size ? meets(item.n, from.n) : meets(item.o, from.o)) return "hot";
  if (meets(item.c, from.n) || meets(item.n, from.c)) return "hot";
  if (item.s !== from.s) {
    const [front, back] = item.s === "forward" ? [item, from] : [from, item];
    if (meets(back.v, bars(front.v)) || meets(item.p, from.p)) return "twin";
  } else if (!item.o.size && !from.o.size && meets(item.v, from.v)) {
    return "hot";
  }
  return item.g && item.g === from.g ? "warm" : "";
}

function light(from, scroll = true) {
  const lit = new Set();
  const first = new Map();
  for (const item of all) {
    const found = from ? kind(item, from) : "";
    item.element.classList.toggle("hot", found === "hot");
    item.element.classList.toggle("twin", found === "twin");
    item.element.classList.toggle("warm", found === "warm");
    if (found === "hot" && item.element.dataset.id) lit.add(item.element.dataset.id);
    if (found && found !== "warm" && !item.element.closest("[hidden]")) {
      const key = item.pane.id;
      if (!first.has(key) || (found === "hot" && first.get(key)[0] !== "hot")) {
        first.set(key, [found, item.element]);
      }
    }
  }
  for (const edge of edges) {
    edge.classList.toggle("hot", lit.has(edge.dataset.from) || lit.has(edge.dataset.to));
  }
  svg.classList.toggle("lit", lit.size > 0);
  if (!from || !scroll) return;
  for (const [pane, [, element]] of first) if (pane !== from.pane.id) reveal(element);
}

function reveal(element) {
  const view = element.closest(".scroll");
  const a = element.getBoundingClientRect(), b = view.getBoundingClientRect();
  const top = a.top < b.top + 8 || a.bottom > b.bottom - 8;
  const left = a.width < b.width && (a.left < b.left || a.right > b.right);
  view.scrollBy({ top: top ? a.top - b.top - b.height / 3 : 0,
                  left: left && element.closest("svg") ? a.left - b.left - b.width / 3 : 0 });
}

const target = (event) => {
  const element = event.target.closest?.("[data-g]:not(.band), .box");
  return element ? of.get(element) : null;
};
let waiting = 0;
document.addEventListener("mouseover", (event) => {
  if (pinned) return;
  const item = target(event);
  clearTimeout(waiting);
  waiting = setTimeout(() => light(item), item ? 40 : 160);
});
document.addEventListener("focusin", (event) => {
  const item = target(event);
  if (item) { pinned = null; light(item); }
});
document.addEventListener("click", (event) => {
  const item = target(event);
  if (event.target.closest("button, a")) return;
  pinned = item;
  light(item);
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    pinned = null;
    light(null);
    document.activeElement?.blur?.();
  }
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const here = document.activeElement;
  if (!here?.matches(".line, .box")) return;
  const others = [...here.closest(".pane").querySelectorAll("[tabindex]:is(.line, .box)")]
    .filter((element) => !element.closest("[hidden]"));
  const next = others[others.indexOf(here) + (event.key === "ArrowDown" ? 1 : -1)];
  if (next) { event.preventDefault(); next.focus(); }
});

for (const button of document.querySelectorAll("[data-stage]")) {
  button.addEventListener("click", () => {
    for (const other of document.querySelectorAll("[data-stage]")) {
      other.setAttribute("aria-pressed", String(other === button));
      document.getElementById(`stage-${other.dataset.stage}`).hidden = other !== button;
    }
  });
}

const width = Number(svg.getAttribute("width")), height = Number(svg.getAttribute("height"));
let zoom = 1;
const fit = () => {
  const view = svg.closest(".scroll");
  return Math.max(0.3, Math.min(1.25, (view.clientWidth - 2) / width));
};
const scale = (by) => {
  zoom = Math.max(0.2, Math.min(3, by));
  svg.setAttribute("width", width * zoom);
  svg.setAttribute("height", height * zoom);
};
for (const button of document.querySelectorAll("[data-zoom]")) {
  button.addEventListener("click", () => {
    const way = button.dataset.zoom;
    scale(way === "fit" ? fit() : zoom * (way === "in" ? 1.25 : 0.8));
  });
}
scale(fit());
// A link may say what to light up: report.html#line=model.py:7
const asked = decodeURIComponent(location.hash.replace(/^#line=/, ""));
const found = all.find((item) => item.pane.id === "user" && item.g === asked);
if (found) { pinned = found; light(found); }
