// The run that the page shows: state, progress, whom the others wait for, goodput with causes.

import { byID, element, short } from "./text.js";
import { keyed, mark, say, show } from "./rows.js";
import { count, percent, seconds } from "./words.js";

const tone = { training: "good", done: "good", generated: "good", failed: "bad", waiting: "care", forming: "care", stopping: "care" };

const meaning = {
  useful: "steps are made", straggler: "the others wait for the last", data: "shards or batches", compiling: "workers prepare", forming: "a generation forms",
  fetching: "members fetch the state", holder: "the holder of the state is away", redoing: "lost steps are made again", checkpoint: "training waits for a checkpoint", idle: "no worker",
};

const facts = keyed(byID("facts"), (f) => f[0], () => {
  const name = element("dt"), value = element("dd"), e = element("div", {}, name, value);
  e.update = ([n, v]) => { say(name, n); say(value, v); };
  return e;
});

const stack = keyed(byID("goodput"), (c) => c.cause, () => {
  const e = element("span");
  e.update = (c) => {
    mark(e, `c-${c.cause}`);
    const grow = c.seconds.toFixed(2);
    if (e.grow !== grow) e.style.flexGrow = e.grow = grow;
    const title = `${c.cause}: ${seconds(c.seconds)}`;
    if (e.title !== title) e.title = title;
  };
  return e;
});

const causes = keyed(byID("causes"), (c) => c.cause, () => {
  const key = element("span"), name = element("span", { className: "cause" }), share = element("span"), time = element("span"), why = element("span", { className: "under" });
  const e = element("li", {}, key, name, share, time, why);
  e.update = (c) => {
    mark(key, `key c-${c.cause}`);
    say(name, c.cause);
    say(share, percent(c.share));
    say(time, seconds(c.seconds));
    say(why, c.why || meaning[c.cause] || "");
  };
  return e;
});

// draw shows a run; undefined: there is none.
export function draw(r) {
  show(byID("norun"), !r);
  show(byID("run"), Boolean(r));
  if (!r) return;
  say(byID("runstate"), r.state);
  mark(byID("runstate"), `tag ${tone[r.state] || ""}`);
  say(byID("runname"), (r.id ? `run ${r.id}: ` : "") + r.experiment);
  say(byID("runhash"), r.run.slice(0, 12));
  const progress = r.state === "generating" ? r.shards.done / Math.max(1, r.shards.total) : r.step / Math.max(1, r.steps);
  byID("progress").value = progress;
  const perStep = r.timing?.step || 0;
  facts([
    ["step", `${count(r.step)} of ${count(r.steps)}`],
    ["loss", short(r.loss)],
    ["samples per second", short(r.samples_per_second)],
    ["a step takes", perStep ? seconds(perStep) : "—"],
    ["time left", perStep && r.state === "training" ? seconds((r.steps - r.step) * perStep) : "—"],
    ["generation", `${r.generation}, ${r.world_size} worker${r.world_size === 1 ? "" : "s"}`],
    ["committed", r.committed ? `step ${count(r.committed.step)}` : "—"],
    ["checkpoint", r.checkpoint === null ? "none" : `step ${count(r.checkpoint)}`],
  ]);
  const w = r.waits_for;
  say(byID("waits"), w ? `The others wait for ${w.worker}: it was last in ${w.steps} of the last ${w.of} steps, and cost ${seconds(w.seconds)} a step.` : "");
  say(byID("trouble"), [r.failure && `It failed: ${r.failure}.`, r.short && `There is no room in ${r.short.path}: ${r.short.what} is not stored.`].filter(Boolean).join(" "));
  const g = r.goodput;
  const parts = g && g.seconds > 0 ? [{ cause: "useful", seconds: g.useful, why: "" }, ...g.lost].map((c) => ({ ...c, share: c.seconds / g.seconds })) : [];
  stack(parts);
  causes(parts);
}
