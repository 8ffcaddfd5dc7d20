// Light and dark: as the system has it, until a person chooses.

const key = "ergoflow-theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const button = document.getElementById("theme");
let changed = () => {};

export function dark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : system.matches;
}

function show() {
  button.setAttribute("aria-pressed", String(dark()));
  changed();
}

// start follows the switch and the system, and calls redraw at each change.
export function start(redraw) {
  const chosen = localStorage.getItem(key);
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
  show();
  changed = redraw;
  system.addEventListener("change", show);
  button.addEventListener("click", () => {
    const next = dark() ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    localStorage.setItem(key, next);
    show();
  });
}

const probe = document.createElement("span");
probe.hidden = true;
document.body.append(probe);

// colour is a variable of the style as canvases take it.
export function colour(name) {
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}
