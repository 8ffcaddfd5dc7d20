// The stream of events from the coordinator. It is opened again when it breaks, and closed while
// nobody looks at the page: a browser has few connections to one server.

const silence = 12_000; // milliseconds without a word, after which the coordinator counts as gone
const again = 1_000;
const unseen = 60_000;

// follow calls the functions of on: hello, history, state and log with an event's data, and word
// with whether the coordinator is gone, and when it was last heard.
export function follow(on) {
  let source = null, opened = 0, heard = Date.now(), retry = null, hiding = null, paused = false, after = "";

  function open() {
    clearTimeout(retry);
    retry = null;
    source?.close();
    opened = Date.now();
    source = new EventSource(`/api/events?after=${encodeURIComponent(after)}`);
    for (const name of ["hello", "history", "state", "log", "beat"]) {
      source.addEventListener(name, (e) => {
        heard = Date.now();
        if (e.lastEventId) after = e.lastEventId;
        on.word(false, heard);
        if (name !== "beat") on[name](JSON.parse(e.data));
      });
    }
    source.addEventListener("error", () => { // also where it would try by itself, since that gives up at some answers
      source.close();
      source = null;
      on.word(true, heard);
      retry ??= setTimeout(open, again);
    });
  }

  function pause() {
    paused = true;
    clearTimeout(retry);
    retry = null;
    source?.close();
    source = null;
  }

  setInterval(() => {
    if (paused) return;
    if (!source) {
      on.word(true, heard);
    } else if (Date.now() - Math.max(heard, opened) > silence) { // the connection is there, and carries nothing
      on.word(true, heard);
      open();
    }
  }, 1000);

  document.addEventListener("visibilitychange", () => {
    clearTimeout(hiding);
    if (document.hidden) {
      hiding = setTimeout(pause, unseen);
    } else if (paused) {
      paused = false;
      open();
    }
  });
  open();
}
