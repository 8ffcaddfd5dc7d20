// The plot of laws on the line: the model's density, the exact one, and histograms of samples and
// chains, by uPlot.

import { byID, element, short } from "./text.js";
import { colour } from "./theme.js";

const bins = 80, perBin = 5;

const curves = [
  { key: "samples", label: "samples", colour: "samples", fill: true },
  { key: "chains", label: "live chains", colour: "chains", fill: true },
  { key: "model", label: "model", colour: "model" },
  { key: "exact", label: "exact law", colour: "exact", dash: [7, 5] },
];

let plot = null;
let x = [];
let data = {}; // by key
const visible = { samples: true, chains: true, model: true, exact: true };

// points is how many the server's densities have.
export const points = bins * perBin;

// legend has a box for each curve, so that the keyboard reaches it.
export function legend() {
  byID("legend").replaceChildren(...curves.map((c, i) => {
    const box = element("input", { type: "checkbox", checked: true, id: `curve-${c.key}` });
    box.addEventListener("change", () => {
      visible[c.key] = box.checked;
      plot?.setSeries(i + 1, { show: box.checked });
    });
    return element("label", { className: "inline" }, box, element("span", { className: `swatch ${c.key}` }), element("span", { id: `name-${c.key}` }, c.label));
  }));
}

// build makes the plot in the colours of the theme.
export function build() {
  plot?.destroy();
  plot = null;
  const chart = byID("chart");
  chart.replaceChildren();
  if (!x.length) return;
  const ink = colour("ink"), rule = colour("rule");
  const axis = { stroke: ink, grid: { stroke: rule, width: 1 }, ticks: { stroke: rule, width: 1 }, font: "12px system-ui, sans-serif" };
  plot = new uPlot({
    width: chart.clientWidth, height: height(chart),
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: { x: { time: false }, y: { range: (_, _least, most) => [0, (most || 1) * 1.06] } },
    series: [{}, ...curves.map((c) => ({
      label: c.label, stroke: colour(c.colour), width: c.fill ? 1 : 2, dash: c.dash, show: visible[c.key], points: { show: false },
      fill: c.fill ? colour(`${c.colour}-fill`) : undefined,
    }))],
    axes: [{ ...axis, label: "x", size: 30, labelSize: 20, labelGap: 0, labelFont: axis.font }, { ...axis, label: "density", labelSize: 18, labelFont: axis.font, size: 48 }],
    hooks: { setCursor: [read] },
  }, table(), chart);
}

const height = (chart) => Math.round(Math.max(240, Math.min(400, chart.clientWidth * 0.6)));

const table = () => [x, ...curves.map((c) => data[c.key] || x.map(() => null))];

function read(u) {
  const i = u.cursor.idx;
  if (i === null || i === undefined) return;
  const values = curves.filter((c) => data[c.key] && visible[c.key]).map((c) => `${byID(`name-${c.key}`).textContent} ${short(data[c.key][i])}`);
  byID("readout").textContent = `x = ${short(x[i])}: ${values.join(", ")}`;
}

new ResizeObserver(() => {
  const chart = byID("chart");
  if (plot && chart.clientWidth > 0 && chart.clientWidth !== plot.width) plot.setSize({ width: chart.clientWidth, height: height(chart) });
}).observe(byID("chart"));

function draw() {
  if (plot) plot.setData(table());
  else build();
}

// density shows an answer to /v1/density.
export function density(answer) {
  x = answer.x;
  data.model = averaged(answer.cdf);
  data.exact = answer.exact;
  if (data.samplesOf) data.samples = histogram(data.samplesOf);
  if (data.chainsOf) data.chains = histogram(data.chainsOf);
  draw();
}

// averaged is the density over seven points, from the distribution function: the model's own
// has ripples that are narrower than any histogram shows.
function averaged(cdf) {
  return x.map((_, i) => {
    const before = Math.max(0, i - 3), after = Math.min(x.length - 1, i + 3);
    return (cdf[after] - cdf[before]) / (x[after] - x[before]);
  });
}

// samples shows the histogram of samples. Without a density it finds a range of its own.
export function samples(all, repaired, alone) {
  if (alone) {
    const sorted = Float64Array.from(all).sort();
    const at = (q) => sorted[Math.round(q * (sorted.length - 1))];
    const least = at(0.001), margin = 0.1 * (at(0.999) - least) || 1;
    const width = at(0.999) - least + 2 * margin;
    x = Array.from({ length: points }, (_, i) => least - margin + width * i / (points - 1));
    data.model = data.exact = null;
  }
  data.samplesOf = all;
  data.samples = histogram(all);
  byID("name-samples").textContent = repaired ? "samples after repair" : "samples";
  draw();
}

// chains shows the histogram of the chains' states; null shows none.
export function chains(all) {
  data.chainsOf = all;
  data.chains = all && histogram(all);
  draw();
}

// forget removes everything, for another model.
export function forget() {
  x = [];
  data = {};
  build();
}

function histogram(all) {
  if (!x.length) return null;
  const least = x[0], width = x[x.length - 1] - least, counts = new Array(bins).fill(0);
  for (const v of all) {
    const k = Math.floor((v - least) / width * bins);
    if (k >= 0 && k < bins) counts[k]++;
  }
  const unit = bins / (width * all.length);
  return x.map((v) => counts[Math.min(bins - 1, Math.floor((v - least) / width * bins))] * unit);
}

// canvas is the picture of the plot.
export const canvas = () => plot && plot.ctx.canvas;
