// What an answer says besides its samples: the certificate, the repair, moments and times.

import { byID, element, rows, short } from "./text.js";

const badges = {
  good: { kind: "good", mark: "✓" },
  "use with care": { kind: "care", mark: "!" },
  "do not use": { kind: "refused", mark: "✕" },
  "not judged": { kind: "unknown", mark: "?" },
};

// certificate shows the verdict, its reasons and its checks.
export function certificate(c) {
  const { kind, mark } = badges[c.verdict] || badges["not judged"];
  byID("certificate").replaceChildren(
    element("p", { id: "verdict", className: `badge ${kind}` }, element("span", { className: "mark", "aria-hidden": "true" }, mark), c.verdict),
    element("ul", { className: "reasons" }, ...c.reasons.map((reason) => element("li", {}, reason))),
  );
  if (c.advice) byID("certificate").append(element("p", { className: "advice" }, `Advice: ${c.advice}.`));
  byID("checkrows").replaceChildren(...c.checks.map((check) => element("tr", {},
    element("th", { scope: "row" }, check.name),
    ...[check.effect, check.bound, check.z].map((v) => element("td", {}, short(v))),
    element("td", { className: check.pass ? "pass" : "fail" }, check.pass ? "✓ pass" : "✕ fail"))));
  const failed = c.checks.filter((check) => !check.pass).length;
  byID("checks").querySelector("summary").textContent = `Checks: ${c.checks.length}, of which ${failed} failed`;
}

// repaired says what a repair did: by steps of the equation, or by weights.
export function repaired(r, weights) {
  byID("repaired").textContent = weights ?
    `The samples are ${weights.stages ? "made of smoothed draws of the model" : "draws of the model, taken"} by their importance weights: ` +
    `${weights.draws.toLocaleString("en")} draws${weights.stages ? `, in ${weights.stages} stages,` : ""} are worth ${short(weights.ess)} of the law. ` +
    `The weights are ${weights.khat < 0.7 ? "reliable" : "unreliable"} (Pareto k̂ ${short(weights.khat)}, 0.7 at most).` : !r ? "" :
    `The repair moved the samples by ${r.steps.toLocaleString("en")} steps of ${short(r.dt)} in ${short(1000 * r.seconds)} ms. ` +
    `Their distribution changed by ${short(r.moved)} (Kolmogorov–Smirnov distance). ` +
    (r.replicas ? `In the last rounds each had replicas, at ${r.replicas} temperatures. ` : "") +
    (!r.auto ? "" : r.settled && r.replicas ? "They left the samples right." : r.settled ? "The last round did not move them any more." : "The last round still moved them, or left them wrong.");
}

// warnings lists those that are not the certificate's own.
export function warnings(all, verdict) {
  byID("warnings").replaceChildren(...all.filter((w) => !w.startsWith(`${verdict}: `)).map((w) => element("li", {}, `Warning: ${w}`)));
}

// numbers shows moments and quantiles. density may be null.
export function numbers(answer, density) {
  if (answer.shape.length > 1) {
    const table = [["", "mean", "variance"]];
    for (let k = 0; k < Math.min(2, answer.shape[1]); k++) {
      const n = answer.samples.length;
      const mean = answer.samples.reduce((sum, row) => sum + row[k], 0) / n;
      table.push([["x", "y"][k], short(mean), short(answer.samples.reduce((sum, row) => sum + (row[k] - mean) ** 2, 0) / (n - 1))]);
    }
    rows(byID("moments"), table);
    return;
  }
  const exact = answer.exact || {};
  rows(byID("moments"), [
    ["", "samples", "model", "exact law"],
    ["mean", short(answer.mean), "—", short(exact.mean)],
    ["variance", short(answer.variance), "—", short(exact.variance)],
    ...Object.entries(answer.quantiles).map(([q, v]) => [`${short(100 * q)} %`, short(v), short(density?.quantiles[q]), short(density?.exact_quantiles?.[q])]),
  ]);
}

// made says by what the samples were made, and how long each part took.
export function made(answer, density, milliseconds) {
  const { engine, model, version, seed, solver, shape, timing } = answer;
  byID("made").textContent = `${shape[0].toLocaleString("en")} samples of ${model}@${version} with seed ${seed}, solver ${solver}, ` +
    `by its ${engine}, in ${short(timing.total_ms)} ms. The browser waited ${short(milliseconds)} ms.`;
  const parts = ["wait", "read", "sample", "certify", "repair", "total"];
  rows(byID("timing"), [["", "samples, ms", ...(density ? ["density, ms"] : [])],
    ...parts.map((part) => [part, short(timing[`${part}_ms`]), ...(density ? [short(density.timing[`${part}_ms`])] : [])])]);
}
