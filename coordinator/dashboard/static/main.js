// The page of a coordinator.

import { byID, element } from "./text.js";
import * as theme from "./theme.js";
import { keyed, mark, say, show } from "./rows.js";
import { count, seconds } from "./words.js";
import { follow } from "./stream.js";
import { rights, sweep } from "./act.js";
import * as run from "./run.js";
import * as course from "./course.js";
import * as map from "./map.js";
import * as workers from "./workers.js";
import * as queue from "./queue.js";
import * as facts from "./facts.js";
import * as log from "./log.js";

let state = null;
let chosen = ""; // run; empty: the first that is under way
let build = "";
let drawing = 0;
let drawn = 0; // how often
let took = 0; // milliseconds, the last time

const over = ["done", "failed", "generated"];

const options = keyed(byID("choose"), (r) => r.run, (r) => {
  const e = element("option", { value: r.run });
  e.update = (r) => say(e, `${r.id ? `run ${r.id}: ` : ""}${r.experiment} (${r.state})`);
  return e;
});

function current() {
  return state.runs.find((r) => r.run === chosen) || state.runs.find((r) => !over.includes(r.state)) || state.runs.at(-1);
}

function draw() {
  drawing = 0;
  const begin = performance.now(), r = current();
  options(state.runs);
  show(byID("chooserow"), state.runs.length > 1);
  if (r && byID("choose").value !== r.run) byID("choose").value = r.run;
  run.draw(r);
  course.draw(r?.run || "");
  workers.draw(state.workers);
  map.draw(r, state.workers);
  queue.draw(state);
  facts.draw(state, r);
  say(byID("headline"), headline(r));
  say(byID("about"), `ergoflow ${state.version}, process ${state.pid}`);
  byID("main").ariaBusy = "false";
  drawn++;
  if (drawn % 60 === 0) sweep();
  took = performance.now() - begin;
}

// headline is read out when it changes, so it has no numbers that change all the time.
function headline(r) {
  const there = `${count(state.workers.length)} worker${state.workers.length === 1 ? "" : "s"}`;
  const slow = state.workers.filter((w) => w.slow).map((w) => w.id);
  return [r ? `${r.experiment} is ${r.state}` : "There is no run", there, slow.length === 1 && `${slow[0]} is slow`, slow.length > 1 && `${slow.length} workers are slow`].filter(Boolean).join("; ") + ".";
}

function drawSoon() {
  if (state && !drawing) drawing = requestAnimationFrame(draw);
}

follow({
  hello(h) {
    if (build && build !== h.build) show(byID("older"), true);
    build ||= h.build;
    rights(h);
  },
  history(h) { course.begin(h); },
  state(s) {
    course.add(s.time, s.state.runs);
    state = s.state;
    drawSoon();
  },
  log(events) { log.add(events); },
  word(gone, since) {
    show(byID("banner"), gone);
    if (gone) say(byID("since"), `Its last word was ${seconds(Math.round((Date.now() - since) / 1000))} ago, and what follows is of then.`);
    mark(byID("live"), `live ${gone ? "off" : "on"}`);
    say(byID("live"), gone ? "gone" : "live");
    byID("main").classList.toggle("old", gone);
  },
});

byID("choose").addEventListener("change", () => {
  chosen = byID("choose").value;
  drawSoon();
});
byID("reload").addEventListener("click", () => location.reload());
theme.start(() => { course.build(); drawSoon(); });
course.build();

// For tests.
window.page = { get drawn() { return drawn; }, get took() { return took; }, points: course.points, events: log.size };
