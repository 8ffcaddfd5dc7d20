// Small helpers for text and elements.

// element makes an element with text or children.
export function element(name, properties = {}, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in e) e[key] = value;
    else e.setAttribute(key, value);
  }
  e.append(...children);
  return e;
}

// short writes a number with three digits that count; — where there is none.
export function short(v, digits = 3) {
  if (v === null || v === undefined || !Number.isFinite(v)) return "—";
  if (v === 0 || Math.abs(v) < 1e-12) return "0";
  return Math.abs(v) >= 1e5 || Math.abs(v) < 1e-3 ? v.toExponential(digits - 1) : String(Number(v.toPrecision(digits)));
}

// rows fills a table. The first cell of each row is its header; the first row is all headers.
export function rows(table, all) {
  table.replaceChildren(...all.map((cells, i) => element("tr", {}, ...cells.map((cell, k) =>
    element(i === 0 || k === 0 ? "th" : "td", i === 0 ? { scope: "col" } : k === 0 ? { scope: "row" } : {}, cell)))));
}

export const byID = (id) => document.getElementById(id);
