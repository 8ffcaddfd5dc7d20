// Heat maps of samples in the plane: counts in cells, smoothed over the neighbours, with axes.

import { byID, short } from "./text.js";
import { colour } from "./theme.js";
import { viridis } from "./colours.js";

const maps = ["samples-map", "chains-map"];
const cells = 48;
const left = 38, bottom = 42, top = 6, right = 10; // of the axes, pixels

let range = null; // {x: [least, most], y: [least, most]}
const shown = {}; // by canvas id: states, [[x, y], …] as one list

// samples shows the samples [n][d], and sets the range of both maps.
export function samples(all, repaired) {
  byID("samples-name").textContent = repaired ? "Samples after repair" : "Samples of the model";
  const flat = new Float64Array(2 * all.length);
  all.forEach((row, i) => { flat[2 * i] = row[0]; flat[2 * i + 1] = row[1]; });
  const extents = [0, 1].map((k) => {
    const sorted = Float64Array.from(all, (row) => row[k]).sort();
    const at = (q) => sorted[Math.round(q * (sorted.length - 1))];
    return [at(0.003), at(0.997)];
  });
  const width = 1.3 * Math.max(1e-3, ...extents.map(([least, largest]) => largest - least));
  const [x, y] = extents.map(([least, largest]) => [(least + largest - width) / 2, (least + largest + width) / 2]);
  range = { x, y };
  shown["samples-map"] = flat;
  draw();
}

// chains shows the states of chains, [2n]; null shows none.
export function chains(flat) {
  shown["chains-map"] = flat;
  draw();
}

export function forget() {
  range = null;
  for (const id of Object.keys(shown)) delete shown[id];
}

// draw paints both maps, for example in another theme.
export function draw() {
  if (!range) return;
  // Both maps have one scale, up to the largest density of either.
  const values = maps.map((id) => (shown[id] ? count(shown[id]) : new Float64Array(cells * cells)));
  const most = Math.max(...values.map((v) => v.reduce((a, b) => Math.max(a, b)))) || 1;
  maps.forEach((id, k) => paint(id, values[k], most));
  byID("most").textContent = short(most, 2);
  const context = byID("colours").getContext("2d");
  const bar = context.createImageData(256, 10);
  for (let i = 0; i < 2560; i++) bar.data.set([...viridis.subarray(3 * (i % 256), 3 * (i % 256) + 3), 255], 4 * i);
  context.putImageData(bar, 0, 0);
}

// count is the density in each cell.
function count(flat) {
  const counts = new Float64Array(cells * cells), width = range.x[1] - range.x[0];
  for (let i = 0; i < flat.length; i += 2) {
    const column = Math.floor((flat[i] - range.x[0]) / width * cells), row = Math.floor((flat[i + 1] - range.y[0]) / width * cells);
    if (column >= 0 && column < cells && row >= 0 && row < cells) counts[row * cells + column]++;
  }
  const unit = cells * cells / (width * width * (flat.length / 2));
  return blur(blur(counts, 1), cells).map((v) => v * unit);
}

// blur weighs each cell and its two neighbours along an axis by ¼, ½, ¼.
function blur(values, step) {
  return values.map((v, i) => {
    const place = step === 1 ? i % cells : Math.floor(i / cells);
    const before = place > 0 ? values[i - step] : v, after = place < cells - 1 ? values[i + step] : v;
    return (before + 2 * v + after) / 4;
  });
}

function paint(id, values, most) {
  const canvas = byID(id), scale = devicePixelRatio || 1;
  const size = canvas.clientWidth;
  if (!size) return;
  canvas.width = canvas.height = Math.round(size * scale);
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  const w = size - left - right, h = size - top - bottom;
  const image = new ImageData(cells, cells);
  for (let row = 0; row < cells; row++) {
    for (let column = 0; column < cells; column++) {
      const level = Math.min(255, Math.round(255 * values[row * cells + column] / most));
      image.data.set([...viridis.subarray(3 * level, 3 * level + 3), 255], 4 * ((cells - 1 - row) * cells + column));
    }
  }
  const small = new OffscreenCanvas(cells, cells);
  small.getContext("2d").putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(small, left, top, w, h);
  axes(context, w, h);
}

function axes(context, w, h) {
  context.strokeStyle = context.fillStyle = colour("ink");
  context.font = "12px system-ui, sans-serif";
  context.strokeRect(left + 0.5, top + 0.5, w - 1, h - 1);
  context.textAlign = "center";
  context.textBaseline = "top";
  for (const v of ticks(range.x)) {
    const at = left + (v - range.x[0]) / (range.x[1] - range.x[0]) * w;
    context.fillRect(at, top + h, 1, 4);
    context.fillText(String(v), at, top + h + 6);
  }
  context.fillText("x", left + w / 2, top + h + 19);
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const v of ticks(range.y)) {
    const at = top + h - (v - range.y[0]) / (range.y[1] - range.y[0]) * h;
    context.fillRect(left - 4, at, 4, 1);
    context.fillText(String(v), left - 6, at);
  }
  context.fillText("y", 10, top + h / 2);
}

// ticks are round numbers in a range.
function ticks([least, largest]) {
  const rough = (largest - least) / 4, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= rough);
  const all = [];
  for (let k = Math.ceil(least / step); k * step <= largest; k++) all.push(Number((k * step).toPrecision(6)));
  return all;
}

new ResizeObserver(draw).observe(byID("plane"));

// canvas is the picture of both maps, side by side.
export function canvas() {
  const [one, other] = maps.map(byID);
  const picture = new OffscreenCanvas(one.width + other.width, one.height);
  const context = picture.getContext("2d");
  context.drawImage(one, 0, 0);
  context.drawImage(other, one.width, 0);
  return picture;
}
