"use strict";
const data = JSON.parse(document.getElementById("data").textContent);

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// A cell of the data is its text, or [text, value to sort by, whether best, number of the summarised cell].
const textOf = (cell) => (Array.isArray(cell) ? cell[0] : cell);
const valueOf = (cell) => (Array.isArray(cell) ? cell[1] : null);
const collator = new Intl.Collator("en", { numeric: true });

// Rising order; the other way round it is turned, but what has no number stays behind what has one.
function compare(a, b, down) {
  const [x, y] = [valueOf(a), valueOf(b)];
  if (x === null && y !== null) return 1;
  if (x !== null && y === null) return -1;
  return (x !== null ? x - y : collator.compare(textOf(a), textOf(b))) * (down ? -1 : 1);
}
const count = (n) => (n === 1 ? "1 row" : `${n} rows`);

// A page that loads itself again while a grid runs keeps what its reader has chosen, in this tab.
const KEPT = `llp.report ${location.pathname}`;
let kept = {};
try {
  kept = JSON.parse(sessionStorage.getItem(KEPT)) ?? {};
  sessionStorage.removeItem(KEPT);
} catch {
  // a browser that keeps nothing for files
}
const views = kept.views ?? {};

function tableCell(cell, column, isText) {
  if (column === 0) return element("th", { scope: "row" }, textOf(cell));
  const made = element("td", {});
  if (isText) made.className = "text";
  if (Array.isArray(cell) && cell[2]) made.className = "best";
  if (Array.isArray(cell) && cell[3] !== null) {
    const button = element("button", { type: "button", "data-cell": cell[3] }, cell[0]);
    button.setAttribute("aria-label", `${cell[0]}${cell[2] ? ", best" : ""}: runs behind it`);
    made.append(button);
  } else made.append(textOf(cell));
  return made;
}

function fillTable(table, { columns, rows }) {
  const isText = columns.map((_, i) => rows.some((row) => valueOf(row[i]) === null && textOf(row[i]).length > 24));
  const body = element("tbody");
  let shown = rows;
  const draw = () => body.replaceChildren(
    ...shown.map((row) => element("tr", {}, ...row.map((cell, i) => tableCell(cell, i, isText[i])))));
  const view = (views[table.id] ??= { words: "", column: null, down: false });
  function sort() {
    if (!heads[view.column]) return;
    for (const other of heads) other.setAttribute("aria-sort", "none");
    heads[view.column].setAttribute("aria-sort", view.down ? "descending" : "ascending");
    rows = rows.toSorted((a, b) => compare(a[view.column], b[view.column], view.down));
  }
  const heads = columns.map((title, i) => {
    const head = element("th", { scope: "col", "aria-sort": "none" });
    const button = element("button", { type: "button", title: "Sort by this column" }, title);
    button.addEventListener("click", () => {
      view.down = view.column === i && !view.down;
      view.column = i;
      sort();
      filter();
    });
    head.append(button);
    return head;
  });
  const input = document.querySelector(`input[data-table="${CSS.escape(table.id)}"]`);
  const status = input.closest(".filter").querySelector("[role=status]");
  function filter() {
    view.words = input.value;
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    shown = rows.filter((row) => {
      const text = row.map(textOf).join(" ").toLowerCase();
      return words.every((word) => text.includes(word));
    });
    status.textContent = (words.length ? `${shown.length} of ` : "") + count(rows.length);
    draw();
  }
  input.addEventListener("input", filter);
  table.append(element("thead", {}, element("tr", {}, ...heads)), body);
  input.value = view.words;
  sort();
  filter();
}

// Tables are filled when they are opened: a page with hundreds of long tables loads at once.
function open(details) {
  const table = details.querySelector("table");
  if (details.open && table && !table.tHead) fillTable(table, data.tables[table.id]);
}
document.querySelectorAll("details").forEach((details, i) => {
  const name = details.querySelector("table")?.id ?? i;
  details.open = kept.open?.[name] ?? details.open;
  details.dataset.name = name;
});
for (const details of document.querySelectorAll("details.table")) {
  details.addEventListener("toggle", () => open(details));
  open(details);
}
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details")) { details.open = true; if (details.className === "table") open(details); }
});

const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#444444"];
const DASHES = ["none", "6 3", "8 3 2 3"];

function svg(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function drawCurves(runs, metric, unit) {
  const points = runs.flatMap((run) => run.curve.filter((value) => value !== null));
  if (!points.length) return element("p", {}, "No curve: nothing was trained epoch by epoch.");
  const [low, high] = [Math.min(...points), Math.max(...points)];
  const last = Math.max(1, ...runs.map((run) => (run.curve.length - 1) * run.step));
  const x = (epoch) => 60 + (epoch / last) * 500;
  const y = (value) => 200 - ((value - low) / (high - low || 1)) * 170;
  const made = svg("svg", { viewBox: "0 0 640 240", class: "curves", role: "img", "aria-label": `Test ${metric} by ${unit}, one line per run` });
  for (const value of [low, (low + high) / 2, high]) {
    made.append(svg("line", { x1: 60, x2: 560, y1: y(value), y2: y(value), stroke: "#e3e3e3" }));
    made.append(svg("text", { x: 54, y: y(value) + 4, "text-anchor": "end", "font-size": 11, fill: "#444" }, value.toPrecision(4)));
  }
  for (const epoch of new Set([0, Math.round(last / 2), last]))
    made.append(svg("text", { x: x(epoch), y: 218, "text-anchor": "middle", "font-size": 11, fill: "#444" }, epoch));
  made.append(svg("text", { x: 310, y: 234, "text-anchor": "middle", "font-size": 11, fill: "#444" }, unit));
  runs.forEach((run, i) => {
    const colour = COLOURS[i % COLOURS.length];
    const dash = DASHES[Math.floor(i / COLOURS.length) % DASHES.length];
    const line = run.curve.map((value, j) => (value === null ? "" : `${x(j * run.step)},${y(value)}`)).filter(Boolean).join(" ");
    made.append(svg("polyline", { points: line, fill: "none", stroke: colour, "stroke-width": 1.6, "stroke-dasharray": dash }));
    if (i >= 13) return;
    made.append(svg("line", { x1: 566, x2: 578, y1: 30 + 15 * i, y2: 30 + 15 * i, stroke: colour, "stroke-width": 3, "stroke-dasharray": dash }));
    made.append(svg("text", { x: 582, y: 34 + 15 * i, "font-size": 11, fill: "#444" }, `fold ${run.fold}${run.seed ? `, seed ${run.seed}` : ""}`));
  });
  return made;
}

function showCell(number) {
  const cell = data.cells[number];
  const runs = cell.runs.map((i) => {
    const [fold, seed, best, epochs, chosen, seconds, folder, curve, step] = data.runs[i];
    return { fold, seed, best, epochs, chosen, seconds, folder, curve, step };
  });
  const head = ["fold", "seed", `test ${cell.metric}`, "chosen epoch", "epochs", "seconds", "files"];
  const rows = runs.map((run) => {
    const base = "../" + run.folder.split("/").map(encodeURIComponent).join("/");
    const links = element("td", { class: "text" }, run.folder, element("br"));
    for (const file of ["config.yaml", "metrics.csv", "run.log", "result.json"])
      links.append(element("a", { href: `${base}/${file}` }, file), " ");
    const numbers = [run.seed, run.best === null ? "undefined" : run.best.toPrecision(6), run.chosen, run.epochs, run.seconds.toFixed(1)];
    return element("tr", {}, element("th", { scope: "row" }, String(run.fold)), ...numbers.map((one) => element("td", {}, String(one))), links);
  });
  const table = element("table", {},
    element("thead", {}, element("tr", {}, ...head.map((title) => element("th", { scope: "col" }, title)))), element("tbody", {}, ...rows));
  const config = { ...data.common, ...data.configs[cell.config] };
  const list = element("dl");
  for (const path of Object.keys(config).sort()) list.append(element("dt", {}, path), element("dd", {}, config[path]));
  document.getElementById("cell-title").textContent = `${cell.dataset}: ${cell.title}`;
  document.getElementById("cell-body").replaceChildren(
    element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Runs" }, table),
    element("h3", {}, "Learning curves"),
    element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Learning curves" }, drawCurves(runs, cell.metric, cell.unit)),
    element("h3", {}, "Configuration"), list);
  document.getElementById("cell").showModal();
}

function showFigure(image) {
  const dialog = document.getElementById("figure");
  const large = dialog.querySelector("img");
  large.src = image.src;
  large.alt = image.alt;
  document.getElementById("figure-title").textContent = image.alt;
  dialog.showModal();
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button?.dataset.cell) showCell(button.dataset.cell);
  else if (button?.className === "enlarge") showFigure(button.querySelector("img"));
});

const theme = document.getElementById("theme");
function setTheme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  theme.setAttribute("aria-pressed", dark);
  theme.textContent = dark ? "Light" : "Dark";
}
setTheme(kept.dark ?? matchMedia("(prefers-color-scheme: dark)").matches);
theme.addEventListener("click", () => setTheme(document.documentElement.dataset.theme !== "dark"));

function reload() {
  if (document.querySelector("dialog[open]")) return; // being read
  const all = [...document.querySelectorAll("details")];
  const open = Object.fromEntries(all.map((details) => [details.dataset.name, details.open]));
  const dark = document.documentElement.dataset.theme === "dark";
  const focus = document.activeElement.dataset.table;
  try {
    sessionStorage.setItem(KEPT, JSON.stringify({ views, open, dark, focus }));
  } catch {
    // a browser that keeps nothing for files
  }
  location.reload();
}
if (kept.focus) document.querySelector(`input[data-table="${CSS.escape(kept.focus)}"]`)?.focus({ preventScroll: true });
const seconds = Number(document.body.dataset.refresh);
if (seconds) setInterval(reload, 1000 * seconds);
