// The map of a run's workers: a ring in the order of ranks, with those beside it that are in no
// generation. More than 64 are drawn as a strip, rank after rank.

import { byID } from "./text.js";
import { say } from "./rows.js";
import { seconds } from "./words.js";
import { own } from "./workers.js";

const ringed = 64;
const svg = byID("map");
const space = "http://www.w3.org/2000/svg";

let drawn = ""; // which workers are where
let nodes = new Map(); // by id
let chords = [];
let cuts = null;
let chordLayer = null;

function shape(name, attributes, parent = svg) {
  const e = document.createElementNS(space, name);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  parent.append(e);
  return e;
}

function classed(e, classes) {
  if (e.classes !== classes) e.setAttribute("class", e.classes = classes);
}

// draw shows the workers of a run.
export function draw(run, all) {
  const workers = all.filter((w) => run ? w.run === run.run || !w.run : true);
  const members = workers.filter((w) => w.rank >= 0).sort((a, b) => a.rank - b.rank);
  const others = workers.filter((w) => w.rank < 0);
  const plan = JSON.stringify([members.map((w) => w.id), others.map((w) => w.id)]);
  if (plan !== drawn) {
    drawn = plan;
    place(members, others);
  }
  const awaited = run?.waits_for?.worker;
  const times = members.map(own).filter((t) => t > 0).sort((a, b) => a - b);
  const typical = times[Math.floor((times.length - 1) / 2)] || 0;
  for (const w of workers) {
    const n = nodes.get(w.id);
    n.worker = w;
    const kind = w.state === "failed" ? "bad" : w.rank < 0 ? "spare" : w.slow ? "slow" : typical && own(w) > 1.2 * typical ? "near" : "";
    classed(n.mark, `node ${kind}${w.id === awaited ? " awaited" : ""}`);
  }
  link(members, awaited);
  cutLinks(run?.cut_links || []);
  say(byID("mapsays"), sentence(run, members, others));
}

function sentence(run, members, others) {
  const part = [];
  if (members.length) part.push(`${members.length} worker${members.length === 1 ? " is" : "s are"} in the ring of generation ${run?.generation}: each sends to the next.`);
  if (others.length) part.push(`${others.length} ${others.length === 1 ? "is" : "are"} not in it.`);
  for (const c of (run?.cut_links || []).slice(0, 3)) part.push(`The link between ${c.workers[0]} and ${c.workers[1]} is cut.`);
  return part.join(" ") || "No worker is connected.";
}

// place makes the picture of these workers.
function place(members, others) {
  svg.replaceChildren();
  nodes = new Map();
  chords = [];
  const dense = members.length > ringed;
  const width = 320;
  let height;
  if (dense) {
    const columns = 20, size = width / columns;
    members.forEach((w, i) => node(w, i % columns * size + size / 2, Math.floor(i / columns) * size + size / 2, size * 0.42, true));
    height = Math.ceil(members.length / columns) * size;
    chordLayer = cuts = null;
  } else {
    const radius = members.length === 1 ? 0 : 105, middle = 135;
    height = members.length ? 270 : 0;
    if (members.length > 1) shape("circle", { class: "link", cx: width / 2, cy: middle, r: radius });
    chordLayer = shape("g", {});
    cuts = shape("g", {});
    members.forEach((w, i) => {
      const angle = 2 * Math.PI * i / members.length - Math.PI / 2;
      node(w, width / 2 + radius * Math.cos(angle), middle + radius * Math.sin(angle), members.length > 32 ? 6 : members.length > 12 ? 9 : 13, false);
    });
  }
  const columns = 20, size = width / columns;
  others.forEach((w, i) => node(w, i % columns * size + size / 2, height + 8 + Math.floor(i / columns) * size + size / 2, 6, dense));
  height += others.length ? 8 + Math.ceil(others.length / columns) * size : 0;
  svg.setAttribute("viewBox", `0 0 ${width} ${Math.max(1, height)}`);
}

function node(w, x, y, r, square) {
  const mark = square ? shape("rect", { x: x - r, y: y - r, width: 2 * r, height: 2 * r, rx: 2 }) : shape("circle", { cx: x, cy: y, r });
  mark.dataset.id = w.id;
  if (!square && r >= 9 && w.rank >= 0) {
    const label = shape("text", { x, y, class: "inside" });
    label.textContent = w.rank;
  }
  nodes.set(w.id, { x, y, mark, worker: w });
}

// link draws who waits for the awaited worker, the darker the longer.
function link(members, awaited) {
  const to = nodes.get(awaited);
  const from = chordLayer && to ? members.filter((w) => w.id !== awaited && w.phases && w.phases[4] > 0.02 * w.phases.reduce((a, b) => a + b, 0)) : [];
  while (chords.length > from.length) chords.pop().remove();
  from.forEach((w, i) => {
    chords[i] ??= shape("line", { class: "chord" }, chordLayer);
    const n = nodes.get(w.id), share = w.phases[4] / w.phases.reduce((a, b) => a + b, 0);
    for (const [k, v] of Object.entries({ x1: n.x, y1: n.y, x2: to.x, y2: to.y, opacity: Math.min(1, 0.15 + share).toFixed(2) })) {
      if (chords[i][k + "is"] !== v) chords[i].setAttribute(k, chords[i][k + "is"] = v);
    }
  });
}

function cutLinks(list) {
  if (!cuts) return;
  const key = list.map((c) => c.workers.join()).join();
  if (cuts.key === key && cuts.of === drawn) return;
  cuts.key = key;
  cuts.of = drawn;
  cuts.replaceChildren();
  for (const c of list) {
    const [a, b] = c.workers.map((id) => nodes.get(id));
    if (a && b) shape("line", { class: "cut", x1: a.x, y1: a.y, x2: b.x, y2: b.y }, cuts);
  }
}

svg.addEventListener("pointermove", (e) => {
  const w = nodes.get(e.target.dataset?.id)?.worker;
  if (!w) return;
  const time = own(w) > 0 ? `, ${seconds(own(w))} for its part of a step, waits ${seconds(w.phases[4])}` : "";
  say(byID("mapread"), `${w.rank >= 0 ? `rank ${w.rank}: ` : ""}${w.id}, ${w.state}${time}`);
});
