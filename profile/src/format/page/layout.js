// ---- Flame graph: the position of each box ----

const ROW = 20;
// Boxes narrower than this are not drawn, nor is anything below them.
const LEAST = 0.5;

/** Boxes { node, x, level, width } for each level, from left to right. The zoomed node and its callers take
 * the whole width. */
function layout(tree, zoomed, width) {
  const path = pathTo(tree, zoomed);
  const levels = path.map((node, level) => [{ node, x: 0, level, width }]);
  const all = zoomed === -1 ? tree.whole : tree.below[zoomed];
  if (!all) return levels;
  let rows = [{ node: zoomed, x: 0 }];
  // The boxes are made level by level, so that the boxes of a level are in order.
  for (let level = path.length; rows.length; level++) {
    const made = [];
    for (const { node: parent, x: start } of rows) {
      let x = start;
      for (const node of tree.calleesOf(parent)) {
        const wide = (tree.below[node] / all) * width;
        if (wide < LEAST) break; // sorted: the rest is narrower
        made.push({ node, x, level, width: wide });
        x += wide;
      }
    }
    if (made.length) levels.push(made);
    rows = made;
  }
  return levels;
}

/** Returns the box of a level that covers the position `x`. */
function boxAt(levels, level, x) {
  const boxes = levels[level] ?? [];
  let [low, high] = [0, boxes.length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    const box = boxes[middle];
    if (x < box.x) high = middle - 1;
    else if (x >= box.x + box.width) low = middle + 1;
    else return box;
  }
  return null;
}
