// Trees that open row by row: the dominator tree and the threads.

const LIST = 100;

/**
 * Makes a tree whose rows open on click. `below(node)` returns a node's children; node -1 is the parent
 * of the top nodes. `cells(node)` returns the cells of a node's row; the last one has the node's name.
 */
function tree(body, width, below, cells) {
  function row(node, level) {
    const made = element("tr", { "aria-level": level + 1, tabindex: 0 });
    const isLeaf = typeof node === "string" || !below(node).length;
    const all = typeof node === "string" ? [element("td", { colspan: width, text: node })] : cells(node);
    const name = all.at(-1);
    name.style.textAlign = "left";
    name.style.paddingLeft = `${10 + 14 * level}px`;
    name.prepend(element("span", { class: "twisty", text: isLeaf ? "" : "▸" }));
    made.append(...all);
    Object.assign(made, { node, level });
    if (!isLeaf) made.setAttribute("aria-expanded", "false");
    return made;
  }

  /** Makes the rows of a node's children from index `first` on; the last row is a button that adds more. */
  function rows(node, level, first) {
    const all = below(node);
    const made = all.slice(first, first + LIST).map((child) => row(child, level));
    const left = all.length - first - LIST;
    if (left > 0) {
      const more = row(`… ${grouped.format(left)} more`, level);
      more.rest = () => more.replaceWith(...rows(node, level, first + LIST));
      made.push(more);
    }
    return made;
  }

  function unfold(row) {
    if (row.getAttribute("aria-expanded") !== "false") return;
    row.setAttribute("aria-expanded", "true");
    row.querySelector(".twisty").textContent = "▾";
    row.after(...rows(row.node, row.level + 1, 0));
  }

  function fold(row) {
    if (row.getAttribute("aria-expanded") !== "true") return;
    row.setAttribute("aria-expanded", "false");
    row.querySelector(".twisty").textContent = "▸";
    while (row.nextElementSibling?.level > row.level) row.nextElementSibling.remove();
  }

  function act(row) {
    if (row.rest) return row.rest();
    row.getAttribute("aria-expanded") === "true" ? fold(row) : unfold(row);
  }

  body.addEventListener("click", (event) => {
    const row = event.target.closest("tr");
    // A click on a name opens its details instead.
    if (row && !event.target.closest("a")) act(row);
  });
  body.addEventListener("keydown", (event) => {
    const row = event.target.closest("tr");
    if (event.key === "ArrowRight") unfold(row);
    else if (event.key === "ArrowLeft") fold(row);
    else if (event.key === "ArrowDown") row.nextElementSibling?.focus();
    else if (event.key === "ArrowUp") row.previousElementSibling?.focus();
    else if (event.key === "Enter" && event.target === row) act(row);
    else return;
    event.preventDefault();
  });
  return { refresh: () => body.replaceChildren(...rows(-1, 0, 0)) };
}

const { objects } = data;
// The children of each object in the dominator tree, the largest first; -1 is the parent of the top objects.
const kept = new Map([[-1, []]]);
objects.above.forEach((above, at) => {
  if (!kept.has(above)) kept.set(above, []);
  kept.get(above).push(at);
});
const objectName = (at) => `${objects.names[objects.name[at]]} ${objects.id[at]}`;

/** Returns the children of an object in the dominator tree, and the bytes of the children that the page omits. */
function keptBy(at) {
  if (at === -1) return sought ? objects.above.map((_, at) => at).filter((at) => has(objectName(at))) : kept.get(-1);
  const below = kept.get(at) ?? [];
  const rest = objects.retained[at] - objects.bytes[at] - below.reduce((sum, one) => sum + objects.retained[one], 0);
  return rest > 0 ? [...below, `smaller objects: ${bytes(rest)}`] : below;
}

const objectTree = tree($("object-rows"), 4, keptBy, (at) => [
  share(objects.retained[at]),
  sized(objects.retained[at]),
  sized(objects.bytes[at]),
  element("td", {}, named(objectName(at), objects.id[at])),
]);

// Threads, frames and variables are nodes of one form: { name, below }.
const threadTree = tree($("thread-rows"), 1, (node) => (node === -1 ? data.threads.filter((thread) => has(thread.name)) : node.below), (node) => [
  element("td", {}, marked(node.name)),
]);
