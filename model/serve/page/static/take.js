// What a person takes away: the link, the samples, the plot, the command.

import { ask } from "./api.js";
import { byID } from "./text.js";
import { colour } from "./theme.js";

const say = (text) => { byID("taken").textContent = text; };

function save(blob, name) {
  const a = document.createElement("a");
  a.href = URL.createObjectURL(blob);
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 10000);
  say(`${name} is saved.`);
}

// copy puts text on the clipboard, or where a browser forbids that, selects it in a field.
export async function copy(text, what) {
  const field = byID("copied");
  field.value = text;
  field.hidden = false;
  try {
    await navigator.clipboard.writeText(text);
    say(`${what} is copied.`);
  } catch {
    field.focus();
    field.select();
    say(`${what} is selected below. Copy it with Ctrl+C.`);
  }
}

// csv saves the samples of an answer.
export function csv(answer) {
  if (!answer) return say("There are no samples yet.");
  const plane = answer.shape.length > 1;
  const head = !plane ? "x" : answer.shape[1] === 2 ? "x,y" : answer.samples[0].map((_, i) => `x${i + 1}`).join(",");
  save(new Blob([head, "\n", answer.samples.map(String).join("\n"), "\n"], { type: "text/csv" }), `${answer.model}.csv`);
}

// npy asks for the samples once more, as NumPy's file.
export async function npy(body) {
  const response = await ask("/v1/sample", { body, accept: "application/x-npy" });
  save(await response.blob(), `${body.model}.npy`);
}

// png saves a canvas on the background of the page.
export async function png(canvas, name) {
  if (!canvas) return say("There is no plot yet.");
  const picture = new OffscreenCanvas(canvas.width, canvas.height), context = picture.getContext("2d");
  context.fillStyle = colour("card");
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(canvas, 0, 0);
  save(await picture.convertToBlob({ type: "image/png" }), `${name}.png`);
}

// curl is the command that sends the same request.
export function curl(body) {
  const quoted = `'${JSON.stringify(body).replaceAll("'", String.raw`'\''`)}'`;
  const token = sessionStorage.getItem("ergoflow-token") ? ' -H "Authorization: Bearer $TOKEN"' : "";
  return `curl -s ${location.origin}/v1/sample -H 'Content-Type: application/json'${token} -d ${quoted}`;
}
