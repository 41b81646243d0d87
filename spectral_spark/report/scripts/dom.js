// Building blocks: elements get their content as text nodes only, so nothing from the data is ever parsed as markup.

function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, part] of Object.entries(value)) element.style.setProperty(key, part);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const byId = (id) => document.getElementById(id);

// Names from the data: isolated, so that right-to-left text does not reorder its surroundings, and cut when endless.
const LONGEST = 56;
const LONGEST_WORD = 16; // longer ones may be cut where a line ends, others never
const shortened = (text, length = LONGEST) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);
function bdi(value) {
  const text = String(value);
  const endless = text.split(/[\s›·-]+/).some((part) => part.length > LONGEST_WORD);
  const attributes = { title: text.length > LONGEST && text, class: endless && "endless" };
  return h("bdi", attributes, shortened(text) || "(empty)");
}

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const count = (value) => (Number.isFinite(value) ? whole.format(value) : "–");
const fixed = (value, digits) => (Number.isFinite(value) ? value.toFixed(digits) : "–");

function percent(share) {
  if (!Number.isFinite(share)) return "–";
  const value = share * 100;
  if (value === 0) return "0%";
  if (Math.abs(value) < 0.01) return "<0.01%";
  return `${value.toFixed(Math.abs(value) >= 9.95 ? 0 : Math.abs(value) >= 0.995 ? 1 : 2)}%`;
}

function points(difference) {
  const value = difference * 100;
  const digits = Math.abs(value) >= 9.95 ? 0 : Math.abs(value) >= 0.095 ? 1 : 2;
  return `${value >= 0 ? "+" : "−"}${Math.abs(value).toFixed(digits)}`;
}

const plural = (number, one, many) => `${count(number)} ${number === 1 ? one : (many ?? one + "s")}`;

function bar(share, most, marker, interval) {
  const width = most > 0 ? Math.min(share / most, 1) * 100 : 0;
  const parts = [h("i", { style: { width: `${width.toFixed(2)}%` } })];
  if (marker !== undefined) {
    parts.push(
      h("b", { style: { "inset-inline-start": `calc(${(Math.min(marker / most, 1) * 100).toFixed(2)}% - 1px)` } }),
    );
  }
  if (interval && most > 0) {
    const [low, high] = interval.map((end) => Math.min(end / most, 1) * 100);
    parts.push(h("u", { style: { "inset-inline-start": `${low.toFixed(2)}%`, width: `${Math.max(high - low, 0.5).toFixed(2)}%` } }));
  }
  const kind = marker === undefined && !interval ? "bar" : "bar marked";
  return h("div", { class: kind, "aria-hidden": "true" }, parts);
}

// Tables: a column is a heading or [heading, attributes]; a row is its heading and then cells.
const NUMBER = { class: "number" };
const WIDE_NUMBER = { class: "number wide-only" };
const WITH_BAR = { colspan: 2 };
function table(attributes, columns, rows) {
  const heading = ([text, extra]) => h("th", { scope: "col", ...extra }, text);
  const headings = columns.map((column) => heading(Array.isArray(column) ? column : [column, {}]));
  const made = h("table", attributes, columns.length ? h("thead", {}, h("tr", {}, headings)) : null, h("tbody", {}, rows));
  made.append(exportRow(made));
  return made;
}
const row = (heading, ...cells) => h("tr", {}, h("th", { scope: "row" }, heading), cells);
const number = (text, value) => h("td", { ...NUMBER, "data-value": value }, text);
const wideNumber = (text, value) => h("td", { ...WIDE_NUMBER, "data-value": value }, text);
const barCell = (...values) => h("td", { class: "bar-cell" }, bar(...values));
const scrolled = (content) => h("div", { class: "scroll" }, content);

const button = (text, act, attributes = {}) => h("button", { type: "button", onclick: act, ...attributes }, text);
const link = (text, act) => button(text, act, { class: "link" });
const fold = (title, kind, content) => h("details", { class: `fold ${kind}` }, h("summary", {}, title), content);
const stats = (facts) =>
  h(
    "dl",
    { class: "stats" },
    facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
  );
function options(list, values) {
  list.replaceChildren(...values.map((value) => h("option", { value })));
}

function listed(items) {
  return items.flatMap((item, i) => (i ? [", ", bdi(item)] : [bdi(item)]));
}

let announceTimer = 0;
function announce(text) {
  clearTimeout(announceTimer);
  announceTimer = setTimeout(() => {
    byId("announce").textContent = text;
  }, 150);
}

const colour = (name) => `var(--${name})`;
const narrow = () => window.matchMedia("(max-width: 640px)").matches;

// Draws now, and again whenever the element becomes wider or narrower.
function atEveryWidth(id, draw) {
  let width = 0;
  new ResizeObserver(() => {
    const now = byId(id).clientWidth;
    if (now === width) return;
    width = now;
    draw();
  }).observe(byId(id));
}

// A plot is one picture to a screen reader; the table beside it has the numbers.
function picture(options) {
  const svg = Plot.plot(options);
  svg.setAttribute("role", "img");
  for (const part of svg.querySelectorAll("[aria-label]")) part.removeAttribute("aria-label");
  return svg;
}
