// The page: what a person types becomes requests, and their answers become plots and words.

import { Problem, ask, readJSON } from "./api.js";
import * as answerParts from "./answer.js";
import * as chains from "./chains.js";
import * as fields from "./fields.js";
import * as line from "./line.js";
import * as plane from "./plane.js";
import * as take from "./take.js";
import * as theme from "./theme.js";
import { presets, values } from "./presets.js";
import { draws, equation, read, state, write } from "./state.js";
import { byID, element } from "./text.js";

const pause = 250; // milliseconds between the last key and the request

let models = [];
let model = null; // of models
let used = []; // parameters of the formulas
let request = null; // AbortController of the request under way
let timer = 0;
let last = null; // the last answer
let watched = ""; // the equation whose chains are shown
let lost = false; // the server does not answer

const onLine = () => model && model.dimension === 1;

// busy says whether what the page shows is not yet the answer to what its fields say.
const busy = (is) => document.querySelector("main").setAttribute("aria-busy", String(is));

// edited waits for a pause in the typing, and then asks.
function edited(event) {
  if (event !== "keep") byID("preset").value = "";
  used = fields.used(model, () => edited("keep"));
  busy(true);
  request?.abort();
  clearTimeout(timer);
  timer = setTimeout(run, pause);
}

// run asks for samples and the density. It ends requests that it makes out of date.
async function run() {
  clearTimeout(timer);
  request?.abort();
  if (!model || lost) return;
  const mine = request = new AbortController();
  const signal = mine.signal;
  used = fields.used(model, () => edited("keep"));
  history.replaceState(null, "", `#${write(model, used)}`);
  const begin = performance.now();
  busy(true);
  byID("working").textContent = "The server computes.";
  const asked = equation(model, used);
  const sampled = ask("/v1/sample", { body: { ...asked, ...draws() }, signal }).then(readJSON);
  const density = onLine() && model.engine === "table"
    ? ask("/v1/density", { body: { ...asked, model: state.model, points: line.points }, signal }).then(readJSON) : null;
  const [s, d] = await Promise.allSettled([sampled, density]);
  if (mine !== request) return;
  byID("working").textContent = "";
  busy(false);
  // Samples do without a density, which not every flow has.
  const failed = [s, d].find((r) => r.status === "rejected" && (r === s || r.reason.status !== 422));
  if (failed) return fail(failed.reason);
  fields.clear();
  byID("nodensity").hidden = d.status !== "rejected";
  byID("nodensity").textContent = d.status === "rejected" ? `The plot has the samples alone: ${d.reason.message}.` : "";
  show(s.value, d.value, performance.now() - begin);
  if (chains.active()) watch();
  else if (JSON.stringify(asked) !== watched) showChains(null, model.dimension);
}

function fail(reason) {
  document.body.classList.add("old");
  if (reason instanceof Problem) {
    if (reason.gone || (reason.status === 503 && /no model|draining/.test(reason.message))) return lose(reason.message);
    chains.stop();
    if (reason.status === 404) load().catch(() => {});
    return fields.fail(reason);
  }
  if (reason.name !== "AbortError") throw reason;
}

// show puts an answer on the page.
function show(answer, density, milliseconds) {
  document.body.classList.remove("old");
  last = answer;
  if (density) line.density(density);
  if (onLine()) line.samples(answer.samples, Boolean(answer.repair || answer.weights), !density);
  else plane.samples(answer.samples, Boolean(answer.repair || answer.weights));
  answerParts.certificate(answer.certificate);
  answerParts.repaired(answer.repair, answer.weights);
  answerParts.warnings(answer.warnings, answer.certificate.verdict);
  answerParts.numbers(answer, density);
  answerParts.made(answer, density, milliseconds);
  byID("mend").textContent = state.repair === "none" ? "Repair the samples" : "Undo the repair";
  describe(answer, density);
}

// describe words the plot for those who do not see it.
function describe(answer, density) {
  const verdict = `Verdict about the samples: ${answer.certificate.verdict}.`;
  if (onLine()) byID("chart").setAttribute("aria-label", `Densities of ${density ? "the model, the exact law and " : ""}the samples. The table below has their numbers. ${verdict}`);
  else byID("samples-map").setAttribute("aria-label", `Heat map of the samples. The table below has their means and variances. ${verdict}`);
}

// lose says that the server does not answer, and asks until it does.
async function lose(message) {
  if (lost) return;
  lost = true;
  chains.stop();
  byID("working").textContent = "";
  byID("banner").textContent = `${message} The page asks again every second.`;
  byID("banner").hidden = false;
  document.body.classList.add("old");
  for (;;) {
    await new Promise((resolve) => { setTimeout(resolve, 1000); });
    try {
      await ask("/readyz");
      await load();
      break;
    } catch (err) {
      if (!(err instanceof Problem)) throw err;
    }
  }
  lost = false;
  byID("banner").hidden = true;
  run();
}

// load asks for the models, and chooses the one of the state, or the first.
async function load() {
  models = (await readJSON(await ask("/v1/models"))).models;
  if (!models.length) throw new Problem({ status: 503, detail: "The server has no model ready yet." }, true);
  byID("model").replaceChildren(...models.map((m) =>
    element("option", { value: m.name }, `${m.name}@${m.version}, ${m.dimension === 1 ? "line" : m.dimension === 2 ? "plane" : `${m.dimension} dimensions`}`)));
  choose(models.find((m) => m.name === state.model) || models[0]);
}

// choose takes a model. Formulas of another dimension give way to the first example.
function choose(next) {
  const other = model?.name !== next.name;
  model = next;
  state.model = next.name;
  byID("model").value = next.name;
  const dimension = Math.min(model.dimension, 2);
  if (other) {
    chains.stop();
    line.forget();
    plane.forget();
    byID("preset").replaceChildren(element("option", { value: "" }, "own formulas"), ...presets(model).map((p) => element("option", { value: p.name }, p.name)));
    probe(next);
  }
  if (model.formulas && state.drift.length !== dimension) preset(presets(model)[0]);
  if (!model.times) state.time = null;
  byID("timerow").hidden = !model.times;
  byID("chain").disabled = !model.formulas || Boolean(model.times);
  byID("line").hidden = dimension > 1;
  byID("plane").hidden = dimension === 1;
  if (other) showState();
}

// probe hides the examples that the model's family and grid cannot read: it asks for one sample.
async function probe(of) {
  for (const p of presets(of)) {
    const body = { drift: p.drift.length > 1 ? p.drift : p.drift[0], diffusion: p.diffusion[0], params: values(p), model: of.name, n: 1 };
    try {
      await ask("/v1/sample", { body });
    } catch (err) {
      if (!(err instanceof Problem) || err.gone) return;
      if (err.status === 422 && of === model) byID("preset").querySelector(`option[value="${p.name}"]`)?.remove();
    }
  }
}

// preset takes the formulas and parameters of an example.
function preset(p) {
  state.drift = [...p.drift];
  state.diffusion = [...p.diffusion];
  for (const [name, [value, min, max]] of Object.entries(p.p)) state.params[name] = { value, min, max };
  byID("preset").value = p.name;
}

// showState puts the state into all fields.
function showState() {
  fields.show(model, edited);
  fields.refresh();
  used = fields.used(model, () => edited("keep"));
  for (const name of ["n", "seed", "solver", "repair", "steps", "function"]) byID(name).value = state[name];
  byID("time").value = state.time ?? "";
  byID("stepsrow").hidden = state.repair !== "steps";
  const same = (p) => String(p.drift) === String(state.drift) && String(p.diffusion) === String(state.diffusion);
  byID("preset").value = presets(model).find(same)?.name || "";
}

// watch starts chains of the equation.
function watch() {
  watched = JSON.stringify(equation(model, used));
  chains.start(equation(model, used), state.model, state.seed).catch(fail);
}

function showChains(states, dimension) {
  if (onLine()) line.chains(states);
  else if (dimension === 2) plane.chains(states);
}

function listen() {
  byID("form").addEventListener("submit", (event) => {
    event.preventDefault();
    run();
  });
  byID("model").addEventListener("change", () => {
    choose(models.find((m) => m.name === byID("model").value));
    run();
  });
  byID("preset").addEventListener("change", () => {
    const p = presets(model).find((one) => one.name === byID("preset").value);
    if (!p) return;
    preset(p);
    showState();
    run();
  });
  byID("form-of-diffusion").addEventListener("change", () => {
    const n = Number(byID("form-of-diffusion").value), first = state.diffusion[0];
    const second = state.diffusion.length === 4 ? state.diffusion[3] : state.diffusion[1] ?? first;
    state.diffusion = n === 1 ? [first] : n === 2 ? [first, second] : [first, "0", "0", second];
    fields.show(model, edited);
    edited();
  });
  for (const name of ["n", "seed", "steps", "function"]) {
    byID(name).addEventListener("input", () => {
      const v = byID(name).valueAsNumber;
      const valid = Number.isInteger(v) && byID(name).checkValidity();
      byID(name).toggleAttribute("aria-invalid", !valid);
      if (!valid) return;
      state[name] = v;
      edited("keep");
    });
  }
  byID("time").addEventListener("input", () => {
    state.time = Number.isFinite(byID("time").valueAsNumber) ? byID("time").valueAsNumber : null;
    edited("keep");
  });
  byID("solver").addEventListener("input", () => {
    state.solver = byID("solver").value.trim();
    if (state.solver) edited("keep");
  });
  const repair = (how) => {
    state.repair = byID("repair").value = how;
    byID("stepsrow").hidden = how !== "steps";
    run();
  };
  byID("repair").addEventListener("change", () => repair(byID("repair").value));
  byID("mend").addEventListener("click", () => repair(state.repair === "none" ? "auto" : "none"));
  byID("chain").addEventListener("click", () => (chains.active() ? chains.stop() : watch()));
  chains.on(showChains);
  const body = () => ({ ...equation(model, used), ...draws() });
  byID("share").addEventListener("click", () => take.copy(location.href, "The link"));
  byID("csv").addEventListener("click", () => take.csv(last));
  byID("npy").addEventListener("click", () => take.npy(body()).catch(fail));
  byID("png").addEventListener("click", () => take.png(onLine() ? line.canvas() : plane.canvas(), state.model));
  byID("curl").addEventListener("click", () => take.copy(take.curl(body()), "The command"));
  addEventListener("hashchange", () => {
    read(location.hash);
    choose(models.find((m) => m.name === state.model) || model);
    showState();
    run();
  });
  theme.start(() => {
    line.build();
    plane.draw();
  });
}

async function start() {
  line.legend();
  listen();
  read(location.hash);
  try {
    await load();
  } catch (err) {
    return fail(err);
  }
  run();
}

start();
