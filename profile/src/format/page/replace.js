// ---- A newer profile in place of the shown one ----
//
// Threads, methods and nodes have other numbers in each profile. So the reader's place in the page is kept by names.
// The address has numbers, too. So it is rewritten without a step for the back button, because such a step would lead
// to other methods.

hasSteps = false;

/** Returns the name of a thread or method. Threads of the same name are numbered. */
function keyOf(method) {
  if (!isThread(method)) return [methods.class[method], methods.name[method], methods.descriptor[method], methods.loader[method]].join("\n");
  const at = threadOf(method);
  const { name } = data.threads[at];
  return `${name}\n${data.threads.slice(0, at).filter((other) => other.name === name).length}`;
}

const keysTo = (node) => pathTo(graph, node).map((at) => keyOf(graph.method[at]));
const threadOfKey = (key) => [...data.threads.keys()].find((at) => keyOf(-1 - at) === key);
const methodOfKey = (key) => [...methods.name.keys()].find((method) => keyOf(method) === key);

/** Returns the node to which the names lead; the last one on the way if they lead to none. */
function nodeOfKeys(keys) {
  let node = -1;
  for (const key of keys) {
    const next = graph.calleesOf(node).find((callee) => keyOf(graph.method[callee]) === key);
    if (next === undefined) break;
    node = next;
  }
  return node;
}

/** Returns the node to which the names lead; -1 if they lead to none. */
function exactNode(keys) {
  const node = nodeOfKeys(keys);
  return pathTo(graph, node).length === keys.length ? node : -1;
}

const wordOf = (node) => JSON.stringify(keysTo(node));
const scrolled = () => document.querySelectorAll("section, aside, #stage, #path, #notes-all, #remarks");
const rowsBelow = (id) => [...$(id).children];

/** Returns the reader's place: all that a newer profile must not change. */
function place() {
  const isTree = view === "tree";
  const inRow = document.activeElement?.closest("tbody tr");
  return {
    thread: threadChosen < 0 ? threadChosen : keyOf(-1 - threadChosen),
    callers: !graph.isCallers ? null : ofMethod < 0 ? -1 : keyOf(ofMethod),
    zoomed: keysTo(zoomed),
    chosen: keysTo(chosen),
    detailed: detailed < 0 ? null : keyOf(detailed),
    detailedNode: keysTo(detailedNode),
    shownRows,
    unfolded: isTree ? rowsBelow("tree-rows").filter((row) => row.getAttribute("aria-expanded") === "true").map((row) => wordOf(row.node)) : null,
    marked: isTree ? rowsBelow("tree-rows").filter((row) => row.classList.contains("chosen")).map((row) => wordOf(row.node)) : [],
    focus: inRow ? [inRow.parentElement.id, inRow.node === undefined ? rowsBelow(inRow.parentElement.id).indexOf(inRow) : wordOf(inRow.node)] : null,
    scrolled: [...scrolled()].map(({ scrollTop, scrollLeft }) => [scrollTop, scrollLeft]),
  };
}

/** Leads the reader back to a place. */
function goTo(place) {
  isRestoring = true;
  setThread(place.thread < 0 ? place.thread : threadOfKey(place.thread) ?? SIDE_BY_SIDE);
  const of = typeof place.callers === "string" ? methodOfKey(place.callers) ?? null : place.callers;
  showCallers(of, true);
  zoomed = nodeOfKeys(place.zoomed);
  chosen = exactNode(place.chosen);
  crumbs();
  shownRows = place.shownRows;
  searchAgain();
  if (place.unfolded && view === "tree") unfoldAgain(place);
  const method = place.detailed === null ? undefined : methodOfKey(place.detailed);
  if (method !== undefined) details(method, exactNode(place.detailedNode));
  else closeDetails();
  scrolled().forEach((part, at) => part.scrollTo(...place.scrolled[at].toReversed()));
  if (place.focus) focusAgain(place.focus);
  isRestoring = false;
  remember();
}

/** Unfolds the rows of the call tree that were unfolded, and no others. */
function unfoldAgain({ unfolded, marked }) {
  const wanted = new Set(unfolded);
  treeBody.replaceChildren(...calleeRows(-1, 0, 0));
  for (let row = treeBody.firstElementChild; row; row = row.nextElementSibling) {
    if (row.node === undefined || (!row.hasAttribute("aria-expanded") && !marked.length)) continue;
    const word = wordOf(row.node);
    if (row.hasAttribute("aria-expanded") && wanted.has(word)) unfoldOnce(row);
    if (marked.includes(word)) row.classList.add("chosen");
  }
}

function focusAgain([id, which]) {
  const rows = rowsBelow(id);
  const row = typeof which === "number" ? rows[which] : rows.find((row) => row.node !== undefined && wordOf(row.node) === which);
  row?.focus({ preventScroll: true });
}

/** Returns false if the data need a page with other columns or views. */
function isAlike(next) {
  return next.length === measures.length
    && next.every((one, at) => one.measure === measures[at].measure && one.counts === measures[at].counts && one.sampled === measures[at].sampled);
}

/** Shows a newer profile. The reader's place stays. */
function replaceData(next) {
  if (!isAlike(next)) return location.reload();
  const kept = place();
  measures = next;
  setData(next.find(({ measure }) => measure === data.measure));
  lastClick = NO_CLICK;
  head();
  setThread(SIDE_BY_SIDE);
  graph = tree;
  $("facts").textContent = facts();
  notesLine();
  goTo(kept);
  if (pointer) hover(pointer);
}

// A page that is loaded again, for example to show another measure, shows the same place.
addEventListener("pagehide", () => history.replaceState(place(), ""));
if (history.state?.zoomed) goTo(history.state);
