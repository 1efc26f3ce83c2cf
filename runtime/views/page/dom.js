// Elements, and figures as people read them.

/** Make an element; children are elements or text, never HTML: what ranks wrote stays text. */
export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** Make an element of a drawing. */
export function s(tag, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((one) => one !== null && one !== false));
  return element;
}

const UNITS = ["B", "kB", "MB", "GB", "TB"];

export function bytes(value) {
  let unit = 0;
  for (; value >= 1000 && unit < UNITS.length - 1; unit++) value /= 1000;
  return `${unit && value < 100 ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`;
}

export function seconds(value) {
  if (value < 0.001) return `${(1e6 * value).toFixed(0)} µs`;
  if (value < 1) return `${(1000 * value).toFixed(value < 0.1 ? 1 : 0)} ms`;
  if (value < 120) return `${value.toFixed(1)} s`;
  const minutes = Math.floor(value / 60);
  return minutes < 120 ? `${minutes} min ${Math.floor(value % 60)} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export const many = (value) => value.toLocaleString("en");

export const counted = (number, noun) => `${many(number)} ${noun}${number === 1 ? "" : "s"}`;

/** A table; columns whose index is in `numbers` are aligned to the right. */
export function table(heading, rows, numbers = []) {
  const cell = (tag, value, column) => h(tag, { class: numbers.includes(column) && "number", scope: tag === "th" && "col" }, value);
  return h("div", { class: "scroll" }, h("table", {},
    h("thead", {}, h("tr", {}, heading.map((one, column) => cell("th", one, column)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((one, column) => cell("td", one, column)))))));
}

export function legend(entries) {
  return h("ul", { class: "legend" }, entries.map(([style, text]) => h("li", {}, h("i", { class: style }), text)));
}
