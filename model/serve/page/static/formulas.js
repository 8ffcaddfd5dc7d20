// Names in formulas. Those with no meaning yet are parameters.

const known = new Set(("sin cos tan asin acos atan sinh cosh tanh exp log log2 log10 sqrt cbrt abs sign floor ceil " +
  "erf pow atan2 min max pi e and or not true false nil in if else let matches contains").split(" "));
// Names that the server answers by what to write instead.
const advised = new Set(["PI", "Pi", "E", "inf", "Inf", "nan", "NaN"]);

const tokens = /(?:\d[\d.]*|\.\d+)(?:[eE][+-]?\d+)?|[\p{L}_][\p{L}\p{N}_]*/gu;

// parameters lists the names in formulas that are no variable, constant or function, in the order
// in which they appear.
export function parameters(formulas, variables) {
  const names = [];
  for (const formula of formulas) {
    for (const match of formula.matchAll(tokens)) {
      const name = match[0];
      if (/^[\d.]/.test(name) || known.has(name) || advised.has(name) || variables.includes(name) || names.includes(name)) continue;
      // A call, or a member as in np.sin: the server says what is wrong.
      if (/^\s*[(.]/.test(formula.slice(match.index + name.length)) || formula[match.index - 1] === ".") continue;
      names.push(name);
    }
  }
  return names;
}
