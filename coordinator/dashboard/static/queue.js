// Runs and the queue, schedules, models.

import { byID, element } from "./text.js";
import { keyed, mark, row, say, show } from "./rows.js";
import { ago, at } from "./words.js";
import { button } from "./act.js";

const tone = { running: "good", waiting: "", stopping: "care", done: "good", failed: "bad", cancelled: "care", replaced: "care", skipped: "care" };

const runs = keyed(byID("queue").tBodies[0], (r) => r.id, (first) => {
  const tr = row(5), state = element("span"), name = element("span"), why = element("span", { className: "under" }), reason = element("span", { className: "under" });
  const stop = button("Cancel", () => ({
    title: `Cancel run ${first.id}?`, text: `${first.kind} ${first.name}. A run under way ends; its checkpoints stay.`, yes: "Cancel the run", path: "/api/cancel", body: { id: first.id },
  }));
  stop.setAttribute("aria-label", `Cancel run ${first.id}`);
  tr.cell[1].append(name, why);
  tr.cell[2].append(state, reason);
  tr.cell[4].append(stop);
  tr.update = (r) => {
    say(tr.cell[0], String(r.id));
    say(name, `${r.kind} ${r.name}`);
    say(why, [r.schedule && `schedule ${r.schedule}`, r.priority && `priority ${r.priority}`, r.parent && `of run ${r.parent}`].filter(Boolean).join(", "));
    const word = r.state === "ended" ? r.outcome : r.state;
    say(state, word);
    mark(state, `tag ${tone[word] || ""}`);
    say(reason, r.reason || "");
    say(tr.cell[3], at(r.state === "ended" ? r.ended : r.state === "waiting" ? r.submitted : r.started));
    show(stop, r.state === "running" || r.state === "waiting");
  };
  return tr;
});

const schedules = keyed(byID("schedules").tBodies[0], (s) => s.name, (first) => {
  const name = first.name, tr = row(4), spec = element("span", { className: "under" }), when = element("span"), state = element("span", { className: "under" });
  const result = element("span"), reason = element("span", { className: "under" });
  const change = (action, title, text) => () => ({ title, text, yes: title.split(" ")[0], path: "/api/schedule", body: { name, action } });
  const now = button("Run now", change("run", `Run ${name} now?`, "A retraining is added to the queue, outside the calendar."));
  const pause = button("Pause", change("pause", `Pause ${name}?`, "Its times pass without runs until it is resumed."));
  const resume = button("Resume", change("resume", `Resume ${name}?`, "It goes on with its next time. Times that have passed are listed as skipped."));
  for (const b of [now, pause, resume]) b.setAttribute("aria-label", `${b.textContent}: ${name}`);
  tr.cell[0].append(name, spec);
  tr.cell[1].append(when, state);
  tr.cell[2].append(result, reason);
  tr.cell[3].append(now, " ", pause, resume);
  tr.update = (s) => {
    say(spec, `${s.spec} ${s.zone}`);
    say(when, s.paused ? "paused" : at(s.next?.[0]));
    say(state, s.paused ? s.why || "" : ago(s.next?.[0]));
    say(result, s.last ? `${s.last.outcome} ${at(s.last.ended)}` : "never");
    say(reason, [s.last?.reason, s.failures > 0 && `${s.failures} failure${s.failures === 1 ? "" : "s"} in a row`].filter(Boolean).join("; "));
    show(pause, !s.paused);
    show(resume, Boolean(s.paused));
  };
  return tr;
});

const models = keyed(byID("models").tBodies[0], (v) => `${v.model}@${v.number}`, (first) => {
  const ref = `${first.model}@${first.number}`, tr = row(5), tag = element("span", { className: "tag" });
  const promote = button("Promote", () => ({
    title: `Promote ${ref}?`, text: "It becomes the champion at once. The gate is not asked: this is a person's decision, and goes into the history.",
    yes: "Promote", path: "/api/promote", body: { model: first.model, version: first.number, reason: "promoted on the page" },
  }));
  const back = button("Roll back", () => ({
    title: `Roll ${first.model} back?`, text: `The version that was the champion before ${ref} becomes it again.`, yes: "Roll back", path: "/api/rollback", body: { model: first.model },
  }));
  promote.setAttribute("aria-label", `Promote ${ref}`);
  back.setAttribute("aria-label", `Roll back ${first.model}`);
  tr.cell[1].append(tag);
  tr.cell[4].append(promote, back);
  tr.update = (v) => {
    say(tr.cell[0], ref);
    const champion = v.number === v.champion;
    say(tag, champion ? "champion" : v.number > v.champion ? "candidate" : "earlier");
    mark(tag, `tag ${champion ? "good" : v.number > v.champion ? "care" : ""}`);
    const others = v.aliases.filter((a) => a !== "champion").join(", ");
    say(tr.cell[2], [v.metrics, v.decision && `gate: ${v.decision}`, others && `also ${others}`].filter(Boolean).join("; "));
    say(tr.cell[3], at(v.created));
    show(promote, !champion);
    show(back, champion);
  };
  return tr;
});

// draw shows all three.
export function draw(s) {
  runs(s.queue);
  say(byID("waiting"), s.waiting ? `${s.waiting} wait` : "");
  schedules(s.schedules);
  show(byID("noschedules"), s.schedules.length === 0);
  show(byID("schedules"), s.schedules.length > 0);
  say(byID("scheduled"), s.scheduled > s.schedules.length ? `${s.schedules.length} of ${s.scheduled}` : "");
  const r = s.registry, versions = r.models.flatMap((m) => (m.versions || []).map((v) => ({ ...v, model: m.name, champion: m.champion })));
  models(versions);
  show(byID("models"), versions.length > 0);
  show(byID("nomodels"), versions.length === 0 && !r.problem);
  say(byID("nomodels"), r.known ? "The registry has no versions." : "The coordinator was started without a registry (--registry).");
  say(byID("modelproblem"), r.problem ? `The registry cannot be read: ${r.problem}.` : "");
}
