"use strict";
/* Makes the tables of the page sortable and filterable, and shows local times, the age of the data, and the values of charts.
   The page can be read without it. Texts of the tables go into the page as text, never as markup. */

const PAGE_ROWS = 20;
const MINUTE_MS = 60000, DAY_MS = 86400000;
const DURATIONS = [["d", DAY_MS], ["h", 3600000], ["m", 60000], ["s", 1000]];
const BYTES = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
const NUMBERS = new Set(["count", "bytes", "rate", "byte_rate", "duration", "time_left", "ratio", "time"]);
const TEXTS = new Set(["text", "badge"]);

/* Values as text, as values.py and text.py spell them. */
const count = (value) => (typeof value === "string" ? BigInt(value) : value).toLocaleString("en-US");
const fixed = (value, digits) => value.toLocaleString("en-US", {minimumFractionDigits: digits, maximumFractionDigits: digits});
const rate = (value) => (value === 0 ? "0/s" : `${fixed(value, Math.abs(value) >= 100 ? 0 : 1)}/s`);
const utc = (ms) => new Date(ms).toISOString().replace("T", " ").slice(0, 19);

function bytes(value) {
  let size = Math.abs(Number(value)), power = 0;
  while (size >= 999.5 && power < BYTES.length - 1) { size /= 1000; power += 1; }
  return `${value < 0 ? "-" : ""}${size.toFixed(power === 0 || size >= 99.95 ? 0 : 1)} ${BYTES[power]}`;
}

function duration(value) {
  const sign = value < 0 ? "-" : "", rest = Math.abs(Number(value));
  if (rest < 1000) return rest ? `${sign}${rest}ms` : "0s";
  const place = DURATIONS.findIndex(([, size]) => rest >= size);
  const [unit, size] = DURATIONS[place], smaller = DURATIONS[place + 1];
  const left = smaller ? Math.floor((rest % size) / smaller[1]) : 0;
  return `${sign}${Math.floor(rest / size)}${unit}${left ? String(left).padStart(2, "0") + smaller[0] : ""}`;
}

function timeLeft(value) {
  const size = Math.abs(value), whole = size - size % (size >= MINUTE_MS ? MINUTE_MS : 1000);
  if (!whole) return "now";
  return value < 0 ? `overdue by ${duration(whole)}` : duration(whole);
}

function local(ms) {
  const at = new Date(ms), pad = (number) => String(number).padStart(2, "0");
  const day = at.getDate() === at.getUTCDate() ? "" : `${pad(at.getMonth() + 1)}-${pad(at.getDate())} `;
  return `${day}${pad(at.getHours())}:${pad(at.getMinutes())}`;
}

function spelled(kind, value) {
  switch (kind) {
    case "count": return count(value);
    case "bytes": return bytes(value);
    case "rate": return rate(value);
    case "byte_rate": return `${bytes(value)}/s`;
    case "duration": return duration(value);
    case "time_left": return timeLeft(value);
    case "ratio": return `${(value * 100).toFixed(0)}%`;
    case "time": return utc(value);
    default: return String(value);
  }
}

function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/* The viewer's own time beside every time, or in its title where space is short, unless the viewer's zone is at UTC then: London is in winter. */
const isUtc = (ms) => new Date(ms).getTimezoneOffset() === 0;
function withLocal(time) {
  const ms = Date.parse(time.dateTime);
  if (isUtc(ms)) return;
  if (time.classList.contains("short")) time.title += ` (${local(ms)})`;
  else time.after(make("span", {class: "local"}, ` (${local(ms)})`));
}

/* What stands in a cell, as values.py writes it. */
function content(column, value) {
  if (value === null || value === "") return [make("span", {class: "none"}, value === null ? column.unknown : "")];
  switch (column.kind) {
    case "time": {
      const time = make("time", {datetime: new Date(value).toISOString()}, utc(value)), holder = make("span", {}, time);
      withLocal(time);
      return [...holder.childNodes];
    }
    case "badge": return [make("span", {class: `pill ${value}`}, value)];
    case "text": return [make("bdi", {}, value)];
    case "time_left": if (value < 0) return [make("span", {class: "late"}, timeLeft(value))]; // falls through
    default: return [spelled(column.kind, value)];
  }
}

async function contents(script) {
  if (script.type === "application/json") return JSON.parse(script.textContent);
  const packed = Uint8Array.from(atob(script.textContent), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

const axisOf = (element) => JSON.parse(element.closest("[data-axis]").dataset.axis);

/* A table: its columns, the order of its rows, and the page of them that is shown. */
class Table {
  constructor(root, data) {
    Object.assign(this, {root, data, page: 0, sorted: null, numbersOf: new Map(), drawings: new Map()});
    this.body = root.querySelector("tbody");
    const chart = data.columns.findIndex((column) => column.kind === "chart");
    if (chart >= 0) [...this.body.rows].forEach((row, number) => this.drawings.set(number, [...row.cells[chart].querySelectorAll("svg")]));
    this.all = Uint32Array.from({length: data.rows}, (_, number) => number);
    this.order = this.shown = this.all;
    this.addHeadings();
    this.addTools();
    this.show();
    this.watchWidth();
  }

  addHeadings() {
    this.headings = [...this.root.querySelectorAll("thead th")];
    this.headings.forEach((heading, number) => {
      if (this.data.columns[number].kind === "chart") return;
      const button = make("button", {type: "button"}, heading.textContent);
      button.addEventListener("click", () => this.sortBy(number));
      heading.replaceChildren(button);
    });
  }

  addTools() {
    const tools = this.root.querySelector(".tools");
    this.output = tools.querySelector("output");
    this.input = tools.querySelector("input");
    [this.previous, this.next] = tools.querySelectorAll("button");
    tools.hidden = this.data.rows <= 10;
    this.input.addEventListener("input", () => this.filter());
    this.previous.addEventListener("click", () => this.turn(-1));
    this.next.addEventListener("click", () => this.turn(1));
    this.root.querySelector(".static")?.remove();
  }

  /* Says how many columns are to the right of what is visible. */
  watchWidth() {
    const scroll = this.root.querySelector(".scroll"), more = this.root.querySelector(".more");
    const say = () => {
      const edge = scroll.getBoundingClientRect().right + 8;
      const hidden = scroll.clientWidth ? this.headings.filter((heading) => heading.getBoundingClientRect().right > edge).length : 0;
      more.textContent = hidden ? `${hidden} more column${hidden > 1 ? "s" : ""} to the right →` : "All columns to the right are shown";
      more.hidden = scroll.scrollWidth <= scroll.clientWidth + 1;
      scroll.classList.toggle("cut", hidden > 0);
    };
    scroll.addEventListener("scroll", say, {passive: true});
    new ResizeObserver(say).observe(scroll);
  }

  isNumber(column) { return NUMBERS.has(this.data.columns[column].kind); }

  /* Values for comparison: what is unknown is NaN. */
  numbers(column) {
    if (!this.numbersOf.has(column)) {
      this.numbersOf.set(column, Float64Array.from(this.data.values[column], (value) => (value === null || value === "" ? NaN : Number(value))));
    }
    return this.numbersOf.get(column);
  }

  /* Down and up in turn, then as the page has them; numbers begin with the largest, and what is unknown is last in both. */
  sortBy(column) {
    const first = this.isNumber(column) ? -1 : 1;
    const was = this.sorted?.column === column ? this.sorted.direction : 0;
    const direction = was === 0 ? first : was === first ? -first : 0;
    this.sorted = direction ? {column, direction} : null;
    this.headings.forEach((heading, number) => {
      if (direction && number === column) heading.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      else heading.removeAttribute("aria-sort");
    });
    this.order = direction ? this.inOrder(column, direction) : this.all;
    this.filter();
  }

  inOrder(column, direction) {
    const isNumber = this.isNumber(column), values = isNumber ? this.numbers(column) : this.data.values[column];
    const isUnknown = isNumber ? Number.isNaN : (value) => value === null || value === "";
    return this.all.slice().sort((a, b) => {
      const x = values[a], y = values[b];
      if (isUnknown(x) || isUnknown(y)) return isUnknown(x) - isUnknown(y) || a - b;
      return x < y ? -direction : x > y ? direction : a - b;
    });
  }

  /* Rows whose texts hold every word. */
  filter() {
    const words = this.input.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length) this.texts ??= this.joined();
    this.shown = words.length ? this.order.filter((row) => words.every((word) => this.texts[row].includes(word))) : this.order;
    this.page = 0;
    this.show();
  }

  joined() {
    const columns = this.data.values.filter((_, number) => TEXTS.has(this.data.columns[number].kind));
    return Array.from(this.all, (row) => columns.map((values) => values[row] ?? "").join("\n").toLowerCase());
  }

  turn(pages) {
    this.page += pages;
    this.show();
    this.root.querySelector(".scroll").scrollIntoView({block: "nearest"});
  }

  show() {
    const from = this.page * PAGE_ROWS, until = Math.min(from + PAGE_ROWS, this.shown.length);
    const rows = [];
    for (let place = from; place < until; place += 1) rows.push(this.row(this.shown[place]));
    if (!rows.length) rows.push(make("tr", {}, make("td", {colspan: this.data.columns.length}, "No row matches.")));
    this.body.replaceChildren(...rows);
    this.previous.disabled = from === 0;
    this.next.disabled = until >= this.shown.length;
    const all = this.shown.length === this.data.rows ? "" : `, chosen from ${count(this.data.rows)}`;
    this.output.textContent = this.shown.length ? `Rows ${count(from + 1)} to ${count(until)} of ${count(this.shown.length)}${all}` : "";
  }

  row(number) {
    return make("tr", {}, ...this.data.columns.map((column, place) => {
      const cell = make(place ? "td" : "th", {class: this.isNumber(place) && column.kind !== "time" ? "number" : column.kind});
      if (!place) cell.scope = "row";
      cell.append(...(column.kind === "chart" ? this.chart(number) : content(column, this.data.values[place][number])));
      return cell;
    }));
  }

  chart(number) {
    const drawing = this.drawings.get(number)?.[0];
    if (!drawing) return [];
    const button = make("button", {type: "button", class: "spark"}, drawing);
    button.addEventListener("click", () => this.open(number));
    return [button];
  }

  /* The charts of a row, large, and all that the row says. */
  open(number) {
    const dialog = document.getElementById("history"), facts = make("dl");
    dialog.querySelector("h4").replaceChildren(make("bdi", {}, this.data.values[0][number]));
    this.data.columns.forEach((column, place) => {
      if (place === 0 || column.kind === "chart") return;
      const value = make("dd", {}, ...content(column, this.data.values[place][number]));
      facts.append(make("div", {title: column.source}, make("dt", {}, column.label), value));
    });
    const figures = this.data.charts[number].map((chart, place) => this.figure(chart, this.drawings.get(number)[place]));
    dialog.querySelector(".body").replaceChildren(facts, ...figures);
    dialog.showModal();
    dialog.querySelectorAll(".plot").forEach(pointable);
  }

  figure([title, kind, values], drawing) {
    const axis = axisOf(this.root), known = values.filter((value) => value !== null);
    const most = known.length ? `largest ${spelled(kind, Math.max(...known))}` : "never known";
    const attributes = {class: "plot", "data-kind": kind, "data-values": JSON.stringify(values), "data-axis": JSON.stringify(axis)};
    const scale = [Math.max(0, ...known), Math.min(0, ...known)].map((value) => make("span", {}, spelled(kind, value)));
    const ends = [axis[0], axis[axis.length - 1]].map((ms) => make("span", {}, utc(ms).slice(0, 16)));
    return make("figure", {}, make("figcaption", {}, make("bdi", {}, title), make("b", {}, most)),
      make("div", {class: "drawn"}, make("p", {class: "scale"}, ...scale), make("div", attributes, drawing.cloneNode(true)), make("p", {class: "axis"}, ...ends)));
  }
}

/* Shows time and value of the point that is nearest to the pointer, or that arrow keys go to. */
function pointable(plot) {
  const values = JSON.parse(plot.dataset.values), axis = axisOf(plot);
  if (!values.length) return;
  const span = axis[axis.length - 1] - axis[0], places = axis.map((ms) => (span ? (ms - axis[0]) / span : 1));
  const cursor = make("div", {class: "cursor"}), readout = make("output", {class: "readout"});
  let current = values.length - 1;
  const show = (number) => {
    current = number;
    const value = values[number] === null ? "no value" : spelled(plot.dataset.kind, values[number]);
    readout.textContent = `${utc(axis[number])} UTC${isUtc(axis[number]) ? "" : ` (${local(axis[number])})`}: ${value}`;
    plot.append(cursor, readout);
    cursor.style.left = `${places[number] * 100}%`;
    const widest = plot.clientWidth - readout.offsetWidth;
    readout.style.left = `${Math.max(0, Math.min(places[number] * plot.clientWidth - readout.offsetWidth / 2, widest))}px`;
  };
  const hide = () => { cursor.remove(); readout.remove(); };
  plot.tabIndex = 0;
  plot.setAttribute("role", "group");
  plot.setAttribute("aria-label", plot.querySelector("svg").getAttribute("aria-label"));
  plot.addEventListener("pointermove", (event) => {
    const at = (event.clientX - plot.getBoundingClientRect().left) / plot.clientWidth;
    show(places.reduce((best, place, number) => (Math.abs(place - at) < Math.abs(places[best] - at) ? number : best), 0));
  });
  plot.addEventListener("pointerleave", hide);
  plot.addEventListener("blur", hide);
  plot.addEventListener("focus", () => { if (plot.matches(":focus-visible")) show(current); });
  plot.addEventListener("keydown", (event) => {
    const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!step) return;
    event.preventDefault();
    show(Math.max(0, Math.min(values.length - 1, current + step)));
  });
}

/* How old the data is by now: a page may be read long after it was made. */
function sayAge(article) {
  const age = Date.now() - Number(article.dataset.captured);
  const tile = article.querySelector(".tiles li:last-child");
  if (age < 0) return;
  tile.querySelector("b").textContent = duration(age - age % 1000);
  tile.classList.toggle("warning", age > Number(article.dataset.lateAfter));
}

/* Opens the section that the address names, and everything for a printer. */
function unfold(elements) {
  elements.forEach((element) => { element.open = true; });
}

function openTarget(address) {
  const target = address.length > 1 && document.getElementById(address.slice(1));
  if (target) unfold(target.querySelectorAll(":scope > details"));
}

document.querySelectorAll("article").forEach((article) => {
  sayAge(article);
  const button = article.querySelector(".unfold");
  button.hidden = false;
  button.addEventListener("click", () => unfold(article.querySelectorAll("section > details")));
});
document.querySelectorAll('a[href^="#"]').forEach((link) => link.addEventListener("click", () => openTarget(link.getAttribute("href"))));
addEventListener("beforeprint", () => unfold(document.querySelectorAll("details")));
openTarget(location.hash);
document.querySelectorAll(".figures .plot").forEach(pointable);
document.querySelectorAll("time").forEach(withLocal);
document.querySelectorAll(".table").forEach((root) => contents(root.querySelector("script")).then((data) => new Table(root, data)));
if ([...document.querySelectorAll("time")].some((time) => !isUtc(Date.parse(time.dateTime)))) document.getElementById("zone").textContent = `; your own (${Intl.DateTimeFormat().resolvedOptions().timeZone}) stands in brackets`;
