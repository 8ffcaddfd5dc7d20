// The course of a run: loss, speed and goodput over time, by uPlot. The points follow the rule of
// the coordinator (history.go): when there are too many every second goes.

import { byID, short } from "./text.js";
import { colour } from "./theme.js";
import { percent } from "./words.js";
import { say, show } from "./rows.js";

const most = 600;
const incrs = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 432000]; // seconds between ticks
const columns = ["time", "step", "loss", "speed", "useful", "seconds"];

let runs = {}; // histories by the run's hash
let chosen = ""; // run
let plots = [];

// begin takes what the coordinator has. What the page saw before a restart of the coordinator
// stays.
export function begin(histories) {
  for (const [run, h] of Object.entries(histories)) {
    const had = runs[run];
    const lost = had ? had.time.findIndex((t) => t >= h.time[0]) : 0;
    const old = had ? (lost < 0 ? had.time.length : lost) : 0;
    for (const c of columns) h[c] = had ? had[c].slice(0, old).concat(h[c]) : h[c];
    if (had && old > 0) h.every = Math.max(h.every, had.every);
    while (h.time.length > most) thin(h);
  }
  runs = { ...runs, ...histories };
}

function thin(h) {
  for (const c of columns) h[c] = h[c].filter((_, i) => i % 2 === 0);
  h.every *= 2;
}

// add adds the state of the runs at a time.
export function add(time, all) {
  for (const r of all) {
    if (!r.run || ["done", "failed", "generated"].includes(r.state)) continue;
    const h = (runs[r.run] ??= { every: 0.9, time: [], step: [], loss: [], speed: [], useful: [], seconds: [] });
    if (h.time.length && time - h.time.at(-1) < h.every) continue;
    if (h.time.length >= most) thin(h);
    const g = r.goodput || { useful: 0, seconds: 0 };
    const values = { time, step: r.step, loss: r.loss, speed: r.samples_per_second, useful: g.useful, seconds: g.seconds };
    for (const c of columns) h[c].push(values[c]);
  }
  const here = new Set(all.map((r) => r.run));
  const gone = Object.keys(runs).filter((run) => !here.has(run) && run !== chosen);
  for (const run of gone.slice(0, Math.max(0, Object.keys(runs).length - 8))) delete runs[run];
}

// shares is the share of useful time in the last few intervals before each point.
function shares(h) {
  return h.time.map((_, i) => {
    const from = Math.max(0, i - 5), passed = h.seconds[i] - h.seconds[from];
    return passed > 0 ? Math.max(0, Math.min(1, (h.useful[i] - h.useful[from]) / passed)) : null; // null: also where the coordinator has started again
  });
}

const kinds = [
  { id: "loss", values: (h) => h.loss, colour: "gradient", log: true, text: (v) => short(v) },
  { id: "speed", values: (h) => h.speed, colour: "ring", text: (v) => short(v) },
  { id: "useful", values: shares, colour: "useful", text: percent, range: [0, 1] },
];

// build makes the plots, in the colours of the theme.
export function build() {
  for (const p of plots) p.plot.destroy();
  plots = kinds.map((kind) => {
    const at = byID(kind.id), ink = colour("soft"), rule = colour("rule");
    const axis = { stroke: ink, grid: { stroke: rule, width: 1 }, ticks: { stroke: rule, width: 1, size: 4 }, font: "11px system-ui, sans-serif" };
    const plot = new uPlot({
      width: Math.max(120, at.clientWidth), height: 120, legend: { show: false }, pxAlign: 0, padding: [8, 26, 0, 0],
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 5 } },
      scales: { x: { time: true }, y: kind.log ? { distr: 3 } : { range: kind.range ? () => kind.range : (_, least, top) => [0, (top || 1) * 1.1] } },
      series: [{}, { stroke: colour(kind.colour), width: 1.5, points: { show: false }, spanGaps: false }],
      axes: [{ ...axis, size: 24, space: 60, incrs, values: [[86400, "{MMM} {D}", null, null, null, null, null, null, 1], [3600, "{HH}:{mm}", null, null, null, null, null, null, 1], [60, "{HH}:{mm}", null, null, null, null, null, null, 1], [1, "{HH}:{mm}:{ss}", null, null, null, null, null, null, 1]] },
        { ...axis, size: 46, space: 28, values: (_, ticks) => ticks.map((v) => v === null ? "" : kind.text(v)) }],
      hooks: { setCursor: [(u) => read(kind, u)] },
    }, [[], []], at);
    return { kind, plot };
  });
  draw();
}

function read(kind, u) {
  const i = u.cursor.idx, h = runs[chosen];
  if (i === null || i === undefined || !h) return say(byID(`${kind.id}-now`), "");
  const v = u.data[1][i];
  say(byID(`${kind.id}-now`), v === null || v === undefined ? "" : `${kind.text(v)} at step ${h.step[i]}`);
}

// draw shows a run.
export function draw(run = chosen) {
  chosen = run;
  const h = runs[run];
  show(byID("nocourse"), !h || h.time.length < 2);
  for (const { kind, plot } of plots) {
    let values = h ? kind.values(h) : [];
    if (kind.log) values = values.map((v) => v > 0 ? v : null); // a logarithm has no others
    const some = values.some((v) => v !== null && v !== undefined);
    plot.setData(some ? [h.time, values] : [[], []]);
  }
}

export const points = () => Math.max(0, ...Object.values(runs).map((h) => h.time.length));

new ResizeObserver(() => {
  for (const { kind, plot } of plots) {
    const width = byID(kind.id).clientWidth;
    if (width > 0 && width !== plot.width) plot.setSize({ width, height: 120 });
  }
}).observe(byID("loss"));
