// Numbers and times as people read them.

import { short } from "./text.js";

const whole = new Intl.NumberFormat("en");

export const count = (n) => whole.format(n);

// seconds is a duration.
export function seconds(s) {
  if (s === null || s === undefined || !Number.isFinite(s)) return "—";
  if (s < 0.9995) return `${short(s * 1000, 3)} ms`;
  if (s < 120) return `${short(s, 3)} s`;
  if (s < 7200) return `${Math.round(s / 60)} min`;
  if (s < 172800) return `${short(s / 3600, 3)} h`;
  return `${short(s / 86400, 3)} days`;
}

export function bytes(n) {
  for (const unit of ["B", "KiB", "MiB"]) {
    if (n < 1024) return `${short(n, 3)} ${unit}`;
    n /= 1024;
  }
  return `${short(n, 3)} GiB`;
}

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
const day = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hour12: false });

// at is a time: with the day if it is not today.
export function at(text, now = new Date()) {
  if (!text) return "—";
  const t = new Date(text);
  return t.toDateString() === now.toDateString() ? clock.format(t) : day.format(t);
}

// ago says how long ago, or until when, a time is.
export function ago(text) {
  if (!text) return "—";
  const s = (Date.now() - new Date(text)) / 1000;
  if (Math.abs(s) < 5) return "now";
  return s > 0 ? `${seconds(Math.round(s))} ago` : `in ${seconds(Math.round(-s))}`;
}

export const percent = (share) => `${Math.round(share * 1000) / 10} %`;
