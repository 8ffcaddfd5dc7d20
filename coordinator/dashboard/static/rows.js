// Tables and lists that change in place: an element is made once for each key, and its text is
// touched only when it changes.

// say sets the text of an element.
export function say(e, text) {
  if (e.said === text) return;
  e.said = text;
  e.textContent = text;
}

// mark sets the classes of an element.
export function mark(e, classes) {
  if (e.marked === classes) return;
  e.marked = classes;
  e.className = classes;
}

// show shows or hides an element.
export function show(e, shown) {
  if (e.hidden === shown) e.hidden = !shown;
}

// keyed returns a function that makes the children of a parent those of the items: make(item)
// gives an element with a function update(item).
export function keyed(parent, key, make) {
  const known = new Map();
  return (items) => {
    const left = new Set(known.keys());
    for (const item of items) left.delete(key(item));
    for (const k of left) {
      known.get(k).remove();
      known.delete(k);
    }
    let at = parent.firstElementChild;
    for (const item of items) {
      const k = key(item);
      let e = known.get(k);
      if (!e) {
        e = make(item);
        known.set(k, e);
      }
      if (e === at) at = at.nextElementSibling;
      else if (e.isConnected && parent.moveBefore) parent.moveBefore(e, at); // a button in it keeps the focus
      else parent.insertBefore(e, at);
      e.update(item);
    }
  };
}

// row makes a row of a table with so many cells, of which the first is its header.
export function row(count) {
  const tr = document.createElement("tr");
  tr.cell = [];
  for (let i = 0; i < count; i++) {
    const c = document.createElement(i === 0 ? "th" : "td");
    if (i === 0) c.scope = "row";
    tr.cell.push(c);
    tr.append(c);
  }
  return tr;
}
