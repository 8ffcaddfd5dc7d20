// The events of the coordinator, the newest first, with filters. The page keeps the last of them.

import { byID, element } from "./text.js";
import { say } from "./rows.js";
import { at } from "./words.js";

const most = 2000;
const topics = ["training", "queue", "data", "checkpoint", "security", "coordinator"];
const list = byID("log");
const wanted = new Set(topics);
let rows = []; // elements, the oldest first
let start = 0;

byID("topics").append(...topics.map((t) => {
  const box = element("input", { type: "checkbox", checked: true, id: `topic-${t}` });
  box.addEventListener("change", () => {
    if (box.checked) wanted.add(t);
    else wanted.delete(t);
    filter();
  });
  return element("label", { className: "inline" }, box, ` ${t}`);
}));
byID("warnings").addEventListener("change", filter);
byID("search").addEventListener("input", filter);

function fits(li) {
  const text = byID("search").value.trim().toLowerCase();
  return wanted.has(li.event.topic) && (li.event.warning || !byID("warnings").checked) && (!text || li.event.text.toLowerCase().includes(text));
}

function filter() {
  for (const li of rows) li.hidden = !fits(li);
  tell();
}

function tell() {
  const shown = rows.reduce((n, li) => n + !li.hidden, 0);
  say(byID("logcount"), shown === rows.length ? `${shown} events` : `${shown} of ${rows.length} events`);
}

// add adds events, the oldest first. After a restart the coordinator counts anew.
export function add(events) {
  const had = new Set(rows.slice(-most).filter((li) => li.event.start === events[0]?.start).map((li) => li.event.number));
  const fresh = document.createDocumentFragment(), now = new Date();
  for (const e of events) {
    if (e.start === start && had.has(e.number)) continue;
    if (e.start !== start && start !== 0 && e.number === 1) fresh.prepend(make({ topic: "coordinator", text: "The coordinator has started again.", time: e.time, warning: true, start: e.start, number: 0 }, now));
    start = e.start;
    fresh.prepend(make(e, now));
  }
  list.prepend(fresh);
  for (const li of rows.splice(0, Math.max(0, rows.length - most))) li.remove();
  tell();
}

function make(e, now) {
  const li = element("li", { className: e.warning ? "warning" : "" },
    element("time", { dateTime: e.time }, at(e.time, now)), element("span", { className: "topic" }, e.topic), element("span", { className: "said" }, e.text));
  li.event = e;
  li.hidden = !fits(li);
  rows.push(li);
  return li;
}

export const size = () => rows.length;
