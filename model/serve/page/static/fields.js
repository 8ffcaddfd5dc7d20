// The fields of formulas and of parameters, and the errors below them.

import { byID, element } from "./text.js";
import { parameters } from "./formulas.js";
import { state } from "./state.js";

const labels = {
  drift: { 1: ["Drift b(x)"], 2: ["Drift of x, b₁(x, y)", "Drift of y, b₂(x, y)"] },
  diffusion: {
    1: { 1: ["Diffusion σ(x)"] },
    2: { 1: ["Diffusion σ(x, y)"], 2: ["Diffusion of x, σ₁(x, y)", "Diffusion of y, σ₂(x, y)"], 4: ["Diffusion σ₁₁", "Diffusion σ₁₂", "Diffusion σ₂₁", "Diffusion σ₂₂"] },
  },
};

// show makes the fields of a model's dimension; edited is called when a person has typed.
export function show(model, edited) {
  const dimension = Math.min(model.dimension, 2);
  byID("formulas").hidden = !model.formulas;
  byID("functionrow").hidden = model.formulas;
  byID("diffusionforms").hidden = dimension === 1;
  byID("form-of-diffusion").value = String(state.diffusion.length);
  const fields = [];
  for (const kind of ["drift", "diffusion"]) {
    const names = kind === "drift" ? labels.drift[dimension] : labels.diffusion[dimension][state.diffusion.length];
    names.forEach((name, i) => {
      const id = `${kind}-${i}`;
      const input = element("input", {
        id, className: "formula", value: state[kind][i], spellcheck: false, autocomplete: "off", autocapitalize: "off", maxLength: 4096,
        "aria-describedby": `${id}-error`,
      });
      input.addEventListener("input", () => {
        state[kind][i] = input.value;
        edited();
      });
      fields.push(element("div", { className: "field" }, element("label", { htmlFor: id }, name), input,
        element("div", { id: `${id}-error`, className: "problem", "aria-live": "polite", hidden: true })));
    });
  }
  byID("fields").replaceChildren(...fields);
}

// used lists the parameters of the formulas as they are typed, and shows their sliders.
export function used(model, edited) {
  const names = model.formulas ? parameters([...state.drift, ...state.diffusion], model.dimension > 1 ? ["x", "y"] : ["x"]) : [];
  for (const name of names) state.params[name] ??= { value: 1, min: 0, max: 4 };
  byID("parameters").hidden = names.length === 0;
  const box = byID("sliders");
  if (JSON.stringify(names) !== box.dataset.names) {
    box.dataset.names = JSON.stringify(names);
    box.replaceChildren(...names.map((name) => slider(name, edited)));
  }
  return names;
}

// refresh shows the sliders anew, after their values were set from elsewhere.
export function refresh() {
  delete byID("sliders").dataset.names;
}

function slider(name, edited) {
  const p = state.params[name];
  const number = (label, key) => element("input", { type: "number", step: "any", value: p[key], "aria-label": `${label} of ${name}`, className: key });
  const range = element("input", { type: "range", id: `parameter-${name}`, step: "any", min: p.min, max: p.max, value: p.value });
  const value = number("value", "value"), least = number("least value", "min"), most = number("largest value", "max");
  const step = () => {
    range.min = p.min;
    range.max = p.max;
    range.step = p.max > p.min ? 10 ** Math.floor(Math.log10((p.max - p.min) / 100)) : "any";
    range.value = p.value;
  };
  step();
  range.addEventListener("input", () => {
    p.value = Number(range.value);
    value.value = p.value;
    edited();
  });
  for (const [input, key] of [[value, "value"], [least, "min"], [most, "max"]]) {
    input.addEventListener("input", () => {
      if (input.value === "" || !Number.isFinite(input.valueAsNumber)) return;
      p[key] = input.valueAsNumber;
      // The value is between its bounds, whichever was typed.
      if (key === "value") {
        p.min = Math.min(p.min, p.value);
        p.max = Math.max(p.max, p.value);
        least.value = p.min;
        most.value = p.max;
      } else {
        p.value = Math.max(p.min, Math.min(p.max, p.value));
        value.value = p.value;
      }
      step();
      edited();
    });
  }
  return element("div", { className: "slider" }, element("label", { htmlFor: range.id }, name), range, value,
    element("span", { className: "bounds" }, "from ", least, " to ", most));
}

// explain fills a place with a problem: its sentences, and in monospace the lines that show where.
export function explain(place, message, hint) {
  const lines = message.split("\n");
  const quote = lines.filter((line) => line.startsWith(" | ")).map((line) => line.slice(3));
  const words = lines.filter((line) => !line.startsWith(" | ")).join(" ");
  place.replaceChildren(element("p", {}, words));
  if (quote.length) place.append(element("pre", { tabIndex: 0, "aria-label": "the formula, with a mark below the place" }, quote.join("\n")));
  if (hint) place.append(element("p", { className: "hint" }, hint));
  place.hidden = false;
}

const settings = ["n", "seed", "solver", "steps", "time", "function"];

// clear removes all errors.
export function clear() {
  for (const input of document.querySelectorAll("[aria-invalid]")) input.removeAttribute("aria-invalid");
  for (const place of document.querySelectorAll("#fields .problem, #problem")) place.hidden = true;
}

// fail shows a problem below the field that it is about, or below all fields.
export function fail(problem) {
  clear();
  let shown = false;
  for (const { location = "", message } of problem.errors) {
    const [, kind, index] = /^body\.(\w+)(?:\[(\d+)\])?/.exec(location) || [];
    const [, numbered, rest] = /^formula (\d+): ([^]*)$/.exec(message) || [];
    const field = kind && byID(`${kind}-${numbered ? numbered - 1 : index || 0}`);
    if (field && field.classList.contains("formula")) {
      field.setAttribute("aria-invalid", "true");
      explain(byID(`${field.id}-error`), rest || message, problem.hint);
      shown = true;
    } else if (kind && settings.includes(kind === "repair" ? "steps" : kind)) {
      byID(kind === "repair" ? "steps" : kind).setAttribute("aria-invalid", "true");
      if (kind !== "repair") byID("settings").open = true;
    }
  }
  if (!shown) explain(byID("problem"), problem.message, problem.hint);
}
