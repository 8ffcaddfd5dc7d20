// Requests to the server: with its token, with problems as errors, and its event streams.

// Problem is an answer that is an error. gone says that the server does not answer at all.
export class Problem extends Error {
  constructor(body, gone = false) {
    super(body.detail || body.title || "the server failed");
    this.status = body.status || 0;
    this.hint = body.hint || "";
    this.errors = body.errors || [];
    this.gone = gone;
  }
}

const key = "ergoflow-token";
let asking = null; // the dialog for the token, while it is open

const dialog = document.getElementById("token");
const value = document.getElementById("tokenvalue");

// token asks a person for the token. It is the token, or "" if there is none.
function token(wrong) {
  asking ??= new Promise((resolve) => {
    document.getElementById("tokenwrong").hidden = !wrong;
    value.value = "";
    dialog.addEventListener("close", () => {
      asking = null;
      resolve(dialog.returnValue === "ok" ? value.value.trim() : "");
    }, { once: true });
    dialog.returnValue = "";
    dialog.showModal();
  });
  return asking;
}

// ask sends a request. The answer's status is 200, or ask throws a Problem.
export async function ask(path, { body, accept = "application/json", signal } = {}) {
  for (;;) {
    const known = sessionStorage.getItem(key);
    const headers = { Accept: accept };
    if (known) headers.Authorization = "Bearer " + known;
    if (body) headers["Content-Type"] = "application/json";
    let response;
    try {
      response = await fetch(path, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body), signal, cache: "no-store" });
    } catch (err) {
      if (err.name === "AbortError") throw err;
      throw new Problem({ detail: "The server does not answer." }, true);
    }
    if (response.status === 401) {
      // Another request may have asked in the meantime.
      if (sessionStorage.getItem(key) !== known) continue;
      const given = await token(Boolean(known));
      if (!given) throw new Problem({ status: 401, detail: "The server needs its token.", hint: "press Run to give it" });
      sessionStorage.setItem(key, given);
      continue;
    }
    if (!response.ok) throw new Problem(await readProblem(response));
    return response;
  }
}

async function readProblem(response) {
  try {
    return await response.json();
  } catch {
    return { status: response.status, detail: `The server answered ${response.status} ${response.statusText}.` };
  }
}

// readJSON reads an answer. A connection that breaks is that of a server that has gone.
export async function readJSON(response) {
  try {
    return await response.json();
  } catch (err) {
    if (err.name === "AbortError") throw err;
    throw new Problem({ detail: "The server ended in the middle of an answer." }, true);
  }
}

// stream reads server-sent events, and calls on(name, data) for each. It uses fetch, because an
// EventSource sends no token.
export async function stream(path, signal, on) {
  const response = await ask(path, { accept: "text/event-stream", signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    let part;
    try {
      part = await reader.read();
    } catch (err) {
      if (err.name === "AbortError") throw err;
      throw new Problem({ detail: "The server ended in the middle of the chains." }, true);
    }
    if (part.done) return;
    const events = (rest + part.value).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      let name = "message";
      const data = [];
      for (const line of event.split("\n")) {
        if (line.startsWith("event: ")) name = line.slice(7);
        if (line.startsWith("data: ")) data.push(line.slice(6));
      }
      if (data.length) on(name, JSON.parse(data.join("\n")));
    }
  }
}
