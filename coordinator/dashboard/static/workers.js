// The table of workers, with the parts of each one's step as a bar. All bars have one scale, so
// the straggler's own part sticks out, and it alone does not wait.

import { byID, element } from "./text.js";
import { keyed, mark, row, say, show } from "./rows.js";
import { count, seconds } from "./words.js";
import { button } from "./act.js";

const phases = ["data", "gradient", "copy", "ring", "wait", "update", "other"];
const inTime = [0, 1, 2, 4, 3, 5, 6]; // a worker waits for the last before the ring's sum begins
const explained = { data: "waits for its batch", copy: "of the gradient to the host", wait: "for the last worker", ring: "sums the gradients", other: "between these" };
const bad = new Set(["failed", "aside"]);

let order = { by: "rank", down: false };
let last = [];
let longest = 1;

// own is the part of a step that a worker computes itself, in seconds: data, gradient, copy.
export const own = (w) => w.phases ? w.phases[0] + w.phases[1] + w.phases[2] : 0;

const total = (w) => w.phases ? w.phases.reduce((a, b) => a + b, 0) : 0;

const value = {
  rank: (w) => w.rank < 0 ? 1e9 : w.rank, id: (w) => w.id, state: (w) => w.state, own, wait: (w) => w.phases ? w.phases[4] : 0,
  shards: (w) => w.shards, step: (w) => w.step,
};

const table = keyed(byID("workers").tBodies[0], (w) => w.id, (first) => {
  const tr = row(10), bar = element("div", { className: "phases", role: "img" }), leave = button("Drain", () => ({
    title: `Drain ${first.id}?`, text: "The worker leaves in order: the generation goes on without it, and its process ends. A service manager may start it again.",
    yes: "Drain", path: "/api/drain", body: { worker: first.id },
  }));
  const state = element("span"), slow = element("span", { className: "tag care" }, "slow");
  leave.setAttribute("aria-label", `Drain ${first.id}`);
  tr.cell[2].append(state, " ", slow);
  tr.cell[4].append(bar);
  tr.cell[9].append(leave);
  tr.update = (w) => {
    mark(tr, w.slow ? "slow" : bad.has(w.state) ? "bad" : "");
    say(tr.cell[0], w.rank < 0 ? "—" : String(w.rank));
    say(tr.cell[1], w.id);
    if (tr.cell[1].title !== w.addr) tr.cell[1].title = `${w.addr}, process ${w.pid}, ${w.device}`;
    say(state, w.state);
    show(slow, Boolean(w.slow));
    say(tr.cell[3], w.phases ? seconds(own(w)) : "—");
    paint(bar, w);
    say(tr.cell[5], w.phases ? seconds(w.phases[4]) : "—");
    say(tr.cell[6], String(w.shards));
    say(tr.cell[7], count(w.step));
    const does = w.reason || w.doing || "";
    say(tr.cell[8], does);
    if (tr.cell[8].title !== does) tr.cell[8].title = does;
    show(leave, w.state !== "draining");
  };
  return tr;
});

// paint draws the parts of a step as one background.
function paint(bar, w) {
  const stops = [];
  let at = 0;
  if (w.phases) {
    for (const i of inTime) {
      const s = w.phases[i], end = at + 100 * s / longest;
      if (s > 0) stops.push(`var(--${phases[i]}) ${at.toFixed(1)}% ${end.toFixed(1)}%`);
      at = end;
    }
    stops.push(`transparent ${at.toFixed(1)}%`);
  }
  const background = stops.length > 1 ? `linear-gradient(to right, ${stops.join(", ")})` : "none";
  if (bar.background === background) return;
  bar.background = bar.style.background = background;
  const text = w.phases ? inTime.map((i) => `${phases[i]} ${seconds(w.phases[i])}`).join(", ") : "no step yet";
  bar.title = text;
  bar.setAttribute("aria-label", text);
}

// draw shows workers.
export function draw(all) {
  last = all;
  const find = byID("find").value.trim().toLowerCase();
  const shown = find ? all.filter((w) => `${w.id} ${w.state} ${w.device} ${w.addr} ${w.doing || ""} ${w.reason || ""}${w.slow ? " slow" : ""}`.toLowerCase().includes(find)) : all.slice();
  const of = value[order.by], sign = order.down ? -1 : 1;
  shown.sort((a, b) => {
    const x = of(a), y = of(b);
    return x < y ? -sign : x > y ? sign : a.id < b.id ? -1 : 1;
  });
  longest = Math.max(1e-9, ...all.map(total));
  table(shown);
  say(byID("workercount"), shown.length === all.length ? String(all.length) : `${shown.length} of ${all.length}`);
  show(byID("noworkers"), all.length === 0);
}

byID("phasekeys").append("All bars have one scale: ", ...inTime.map((i) => phases[i]).flatMap((p) => [element("span", { className: "whole" }, element("span", { className: `key p-${p}` }), ` ${p}${explained[p] ? ` (${explained[p]})` : ""}`), " "]));

function sorted() {
  for (const b of document.querySelectorAll(".sort")) {
    b.setAttribute("aria-pressed", String(b.dataset.sort === order.by));
    b.toggleAttribute("data-down", b.dataset.sort === order.by && order.down);
  }
}

byID("workers").tHead.addEventListener("click", (e) => {
  const by = e.target.dataset?.sort;
  if (!by) return;
  const first = by === "own" || by === "wait" || by === "shards"; // the largest first
  order = { by, down: order.by === by ? !order.down : first };
  sorted();
  draw(last);
});
byID("find").addEventListener("input", () => draw(last));
sorted();
