// Known systems. p has [value, least, most] of each parameter.

const line = [
  { name: "Ornstein–Uhlenbeck", drift: ["-theta*(x-mu)"], diffusion: ["sigma"], p: { theta: [1, 0.1, 4], mu: [0.5, -2, 2], sigma: [1, 0.3, 2] } },
  { name: "Double well", drift: ["x-x^3"], diffusion: ["sigma"], p: { sigma: [0.8, 0.3, 2] } },
  { name: "Tilted double well", drift: ["x-x^3+c"], diffusion: ["0.8"], p: { c: [0.2, -1, 1] } },
  { name: "Soft walls", drift: ["-a*tanh(2*x)"], diffusion: ["1"], p: { a: [1.5, 0.3, 4] } },
  { name: "Many wells", drift: ["-0.5*x+a*sin(3*x)"], diffusion: ["1"], p: { a: [1.5, 0, 3] } },
  { name: "Multiplicative noise", drift: ["-x"], diffusion: ["sqrt(0.5+a*x^2)"], p: { a: [0.2, 0, 1] } },
  { name: "Noise on one side", drift: ["-x"], diffusion: ["x > 0 ? s : 0.6"], p: { s: [1.2, 0.3, 2] } },
];

const slow = { name: "Slow double well", drift: ["a*(x-x^3)"], diffusion: ["0.1"], p: { a: [0.02, 0.005, 0.1] } };

const plane = [
  { name: "Ornstein–Uhlenbeck", drift: ["-theta*x", "-theta*y"], p: { theta: [1, 0.2, 4] } },
  { name: "Rotation", drift: ["-x-w*y", "w*x-y"], p: { w: [2, -4, 4] } },
  { name: "Double well", drift: ["a*(x-x^3)", "-2*y"], p: { a: [2, 0.5, 4] } },
  { name: "Duffing", drift: ["y", "x-x^3-g*y"], p: { g: [2, 0.5, 4] } },
  { name: "Van der Pol", drift: ["y", "mu*(1-x^2)*y-x"], p: { mu: [1, 0.2, 3] } },
  { name: "Ring", drift: ["x*(a-x^2-y^2)-y", "y*(a-x^2-y^2)+x"], p: { a: [3, 0, 5] } },
];

// presets are those of a model's dimension. Models in the plane are trained with the noise √2·I.
export function presets(model) {
  if (!model.formulas) return [];
  // rare1d is trained with little noise.
  if (model.dimension === 1) return model.family === "rare1d" ? [slow, ...line] : [...line, slow];
  return model.dimension === 2 ? plane.map((p) => ({ diffusion: ["sqrt(2)"], ...p })) : [];
}

// values are the parameters of a preset at their first values.
export function values(preset) {
  return Object.fromEntries(Object.entries(preset.p).map(([name, [value]]) => [name, value]));
}
