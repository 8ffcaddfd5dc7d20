// Data, checkpoints and security.

import { byID, short } from "./text.js";
import { keyed, row, say, show } from "./rows.js";
import { ago, at, bytes, count } from "./words.js";

const checkpoints = keyed(byID("checkpoints").tBodies[0], (c) => c.id, () => {
  const tr = row(5);
  tr.update = (c) => {
    say(tr.cell[0], count(c.step));
    say(tr.cell[1], `${c.experiment} ${c.run.slice(0, 8)}`);
    say(tr.cell[2], short(c.loss));
    say(tr.cell[3], bytes(c.size));
    say(tr.cell[4], at(c.time));
  };
  return tr;
});

const refused = keyed(byID("refused").tBodies[0], (r) => `${r.from} ${r.reason}`, () => {
  const tr = row(4);
  tr.update = (r) => {
    say(tr.cell[0], r.from);
    say(tr.cell[1], r.reason);
    say(tr.cell[2], count(r.count));
    say(tr.cell[3], at(r.time));
  };
  return tr;
});

// draw shows a state, and of its runs one.
export function draw(s, run) {
  const making = s.workers.filter((w) => w.state === "generating");
  say(byID("shards"), run ? `${count(run.shards.done)} of ${count(run.shards.total)} shards of run ${run.id} exist${making.length ? `; ${making.length} worker${making.length === 1 ? " generates" : "s generate"} others` : ""}.` : "There is no run that needs data.");
  checkpoints(s.checkpoints);
  show(byID("checkpoints"), s.checkpoints.length > 0);
  show(byID("nocheckpoints"), s.checkpoints.length === 0 && !s.checkpoint_problem);
  say(byID("checkpointproblem"), s.checkpoint_problem ? `Checkpoints cannot be read: ${s.checkpoint_problem}.` : "");
  const x = s.security;
  say(byID("secured"), (x.secured
    ? `Connections are encrypted, and both sides show certificates. The coordinator's ends ${at(x.expires)} (${ago(x.expires)}). The authority is ${x.authority}.`
    : "Connections are in plain text: everybody who reaches the ports can do everything.") + ` ${x.refusals ? `${count(x.refusals)} refusals since the start.` : "Nothing was refused."}`);
  say(byID("plaintext"), x.accepts_plaintext ? `Workers without a certificate are accepted, too: ${x.plaintext.join(", ") || "none is there"}.` : "");
  refused(x.refused.slice().reverse());
  show(byID("refused"), x.refused.length > 0);
}
