// What the page asks for. It travels in the fragment of the address, which the server never sees.

export const state = {
  model: "",
  drift: [], // none yet: the first example of the model
  diffusion: [],
  params: {}, // by name: {value, min, max}
  n: 4096,
  seed: 0,
  solver: "rk4-4",
  repair: "none", // none, auto, weights or steps
  steps: 1000,
  function: 0,
  time: null,
};

const numbers = ["n", "seed", "steps", "function"];
const words = ["model", "solver", "repair"];

// write is the state as a fragment without its #. used names the parameters that are asked for.
export function write(model, used) {
  const all = new URLSearchParams();
  all.set("model", state.model);
  if (model.formulas) {
    for (const formula of state.drift) all.append("drift", formula);
    for (const formula of state.diffusion) all.append("diffusion", formula);
    for (const name of used) {
      const { value, min, max } = state.params[name];
      all.append("p", [name, value, min, max].join(":"));
    }
  } else {
    all.set("function", state.function);
  }
  if (state.time !== null) all.set("time", state.time);
  for (const name of ["n", "seed", "solver", "repair"]) all.set(name, state[name]);
  if (state.repair === "steps") all.set("steps", state.steps);
  return all.toString();
}

// read takes the state from a fragment.
export function read(fragment) {
  const all = new URLSearchParams(fragment.replace(/^#/, ""));
  for (const name of words) if (all.get(name)) state[name] = all.get(name);
  for (const name of numbers) {
    const value = all.get(name);
    if (value && Number.isFinite(Number(value))) state[name] = Number(value);
  }
  const time = Number(all.get("time"));
  state.time = all.has("time") && Number.isFinite(time) ? time : null;
  if (!["none", "auto", "weights", "steps"].includes(state.repair)) state.repair = "none";
  for (const text of all.getAll("p")) {
    const [name, ...rest] = text.split(":");
    const [value, min, max] = rest.map(Number);
    if (name && [value, min, max].every(Number.isFinite)) state.params[name] = { value, min, max };
  }
  const drift = all.getAll("drift"), diffusion = all.getAll("diffusion");
  if (drift.length && drift.length <= 2 && [1, 2, 4].includes(diffusion.length)) {
    state.drift = drift;
    state.diffusion = diffusion;
  }
}

// equation is the part of a request's body that names the equation.
export function equation(model, used) {
  const e = {};
  if (state.time !== null && model.times) e.time = state.time;
  if (!model.formulas) return { ...e, function: state.function };
  e.drift = state.drift.length === 1 ? state.drift[0] : state.drift;
  e.diffusion = state.diffusion.length === 1 ? state.diffusion[0] : state.diffusion;
  if (used.length) e.params = Object.fromEntries(used.map((name) => [name, state.params[name].value]));
  return e;
}

// draws is the part of a request's body that says how to draw.
export function draws() {
  const d = { model: state.model, n: state.n, seed: state.seed, solver: state.solver };
  if (state.repair !== "none") d.repair = state.repair === "steps" ? state.steps : state.repair;
  return d;
}
