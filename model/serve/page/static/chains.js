// Chains of the equation that run on the server while the page shows their states.

import { stream } from "./api.js";
import { byID, short } from "./text.js";
import { explain } from "./fields.js";

const seconds = 60;
let running = null; // AbortController
let show = () => {};

export const active = () => running !== null;

// on sets what is called with the states, [n] or [n·d] and their dimension, and null for none.
export function on(states) {
  show = states;
}

// start begins chains in place of those that run. It returns when they end, and throws the
// problem of a server that has gone.
export async function start(equation, model, seed) {
  stop();
  const mine = running = new AbortController();
  byID("chain").textContent = "Stop chains";
  byID("chainproblem").hidden = true;
  byID("chainstate").textContent = "The chains start.";
  const query = new URLSearchParams();
  for (const kind of ["drift", "diffusion"]) for (const formula of [equation[kind]].flat()) query.append(kind, formula);
  for (const [name, value] of Object.entries(equation.params || {})) query.append("param", `${name}=${value}`);
  query.set("model", model);
  query.set("chains", equation.drift.length === 2 && Array.isArray(equation.drift) ? 4096 : 2048);
  query.set("seed", seed);
  query.set("seconds", seconds);
  let time = 0, last = 0;
  const begin = performance.now();
  try {
    await stream(`/v1/chain?${query}`, mine.signal, (name, data) => {
      if (mine !== running) return;
      if (name === "end") {
        if (data.problem) explain(byID("chainproblem"), data.problem, "");
        return;
      }
      time += (data.steps - last) * data.dt;
      last = data.steps;
      show(data.x, data.shape[1] || 1);
      byID("chainstate").textContent =
        `${data.shape[0].toLocaleString("en")} chains, ${data.steps.toLocaleString("en")} steps of ${short(data.dt, 2)}, time ${short(time)}, computed in ${short(1000 * data.took_s)} ms`;
    });
  } catch (err) {
    if (err.name === "AbortError") return;
    if (err.gone) throw err;
    explain(byID("chainproblem"), err.message, err.hint);
  } finally {
    if (mine === running) end(performance.now() - begin < 950 * seconds ? "The server has ended the chains" : `The chains have ended after ${seconds} s`);
  }
}

// end says why the chains have ended, and where.
function end(why) {
  running = null;
  byID("chain").textContent = "Start chains";
  const [state] = /[\d,]+ steps.*$/.exec(byID("chainstate").textContent) || [];
  byID("chainstate").textContent = state ? `${why}: ${state}.` : `${why}.`;
}

// stop ends the chains; their last states stay on the plot.
export function stop() {
  if (!running) return;
  running.abort();
  end("The chains have stopped");
}
