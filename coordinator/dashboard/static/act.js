// Buttons that change something. They need the operator's role, and ask before they act.

import { byID, element } from "./text.js";
import { mark, say, show } from "./rows.js";

let key = sessionStorage.getItem("ergoflow-key") || "";
let may = false;
let why = "";
const buttons = new Set(); // weak references: rows go
let shown = null;

// button makes a button that asks what request() says, and then does it.
export function button(name, request) {
  const b = element("button", { type: "button", className: "act" }, name);
  b.addEventListener("click", () => ask(request()));
  allow(b);
  buttons.add(new WeakRef(b));
  return b;
}

function allow(b) {
  b.disabled = !may;
  b.title = may ? "" : why;
}

function update() {
  for (const ref of buttons) {
    const b = ref.deref();
    if (b) allow(b);
    else buttons.delete(ref);
  }
}

// sweep forgets buttons that are gone.
export function sweep() {
  for (const ref of buttons) if (!ref.deref()) buttons.delete(ref);
}

// rights takes what the coordinator says of the caller.
export async function rights(hello) {
  if (hello.takes_key && key) {
    const r = await fetch("/api/me", { headers: headers() }).catch(() => null);
    if (r?.ok) hello = { ...hello, ...await r.json() };
  }
  may = hello.may;
  why = hello.why;
  show(byID("givekey"), !may && hello.takes_key);
  show(byID("rights"), !may);
  say(byID("rights"), may ? "" : `You may look. The buttons are off: ${why}.`);
  say(byID("key-text"), why);
  update();
  return may;
}

function headers() {
  return key ? { "Content-Type": "application/json", Authorization: `Bearer ${key}` } : { "Content-Type": "application/json" };
}

async function ask(request) {
  say(byID("ask-title"), request.title);
  say(byID("ask-text"), request.text);
  say(byID("ask-yes"), request.yes);
  const dialog = byID("ask");
  dialog.returnValue = "";
  dialog.showModal();
  await new Promise((done) => dialog.addEventListener("close", done, { once: true }));
  if (dialog.returnValue === "ok") await act(request);
}

async function act(request) {
  tell("", "The coordinator works on it.");
  try {
    const r = await fetch(request.path, { method: "POST", headers: headers(), body: JSON.stringify(request.body) });
    const answer = await r.json();
    tell(r.ok ? "" : "failed", r.ok ? `Done: ${answer.detail}.` : `Not done: ${answer.detail}.`);
  } catch {
    tell("failed", "Not done: the coordinator does not answer.");
  }
}

function tell(kind, text) {
  const at = byID("done");
  mark(at, `notice ${kind}`);
  say(at, text);
  show(at, true);
  clearTimeout(shown);
  shown = setTimeout(() => show(at, false), 15_000);
}

byID("givekey").addEventListener("click", async () => {
  const dialog = byID("key");
  show(byID("keywrong"), false);
  for (;;) {
    byID("keyvalue").value = "";
    dialog.returnValue = "";
    dialog.showModal();
    await new Promise((done) => dialog.addEventListener("close", done, { once: true }));
    if (dialog.returnValue !== "ok") return;
    key = byID("keyvalue").value.trim();
    if (await rights({ may: false, why: "the key is not the right one", takes_key: true })) {
      sessionStorage.setItem("ergoflow-key", key);
      return;
    }
    key = "";
    say(byID("keywrong"), why);
    show(byID("keywrong"), true);
  }
});
