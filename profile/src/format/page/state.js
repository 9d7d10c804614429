// ---- The address holds the state of the page: links open it, and the back button returns to it ----
//
// #measure/view?thread=1&waiting=shown&callers=all&zoom=0.3f&find=text&sort=total.up&root=foot

const MOST_NAMED = 4;

let written = "";
let hasSteps = true; // false if the address is only rewritten, without steps for the back button
let isRestoring = false;

/** Returns a node's address: the methods on the path to it. Their numbers are the same each time the page is opened. */
const pathWord = (node) => pathTo(graph, node).map((at) => graph.method[at].toString(36)).join(".");

function nodeOfWord(word) {
  let node = -1;
  for (const step of word.split(".")) {
    const method = parseInt(step, 36);
    const next = graph.calleesOf(node).find((callee) => graph.method[callee] === method);
    if (next === undefined) break;
    node = next;
  }
  return node;
}

function linkOfState() {
  const query = new URLSearchParams();
  if (threadChosen !== SIDE_BY_SIDE) query.set("thread", threadChosen === LAID_OVER ? "over" : threadChosen);
  if (isUnfolded) query.set("waiting", "shown");
  if (graph.isCallers) query.set("callers", ofMethod < 0 ? "all" : ofMethod);
  if (zoomed !== -1) query.set("zoom", pathWord(zoomed));
  if (sought) query.set("find", sought);
  const first = orderOfReport();
  if (isAllocationTable(view)) {
    if (sortingWord(view)) query.set("sort", sortingWord(view));
  } else if (order.column !== first.column || order.down !== first.down) query.set("sort", `${order.column.title}${order.down ? "" : ".up"}`);
  if (upright) query.set("root", "foot");
  const words = [...(measures.length > 1 ? [data.measure] : []), view].join("/");
  return query.size ? `${words}?${query}` : words;
}

/** Writes the state into the address: either as a new step for the back button, or replacing the last step. */
function remember(isSameStep = false) {
  if (isRestoring) return;
  const link = linkOfState();
  if (link === written) return;
  written = link;
  if (isSameStep || !hasSteps) location.replace(`#${link}`);
  else location.hash = link;
}

/** Shows the state that the address contains. */
function restore() {
  isRestoring = true;
  const text = location.hash.slice(1);
  written = text;
  const [path, queryText = ""] = text.split("?");
  const words = path.split("/");
  const query = new URLSearchParams(queryText);
  const number = (name, limit) => {
    const value = Number(query.get(name) ?? NaN);
    return Number.isInteger(value) && value >= 0 && value < limit ? value : null;
  };
  const thread = query.get("thread") === "over" ? LAID_OVER : number("thread", data.threads.length) ?? SIDE_BY_SIDE;
  const unfolds = query.get("waiting") === "shown";
  const isSame = tree && thread === threadChosen && unfolds === isUnfolded;
  isUnfolded = unfolds;
  if (!isSame) setThread(thread);
  const of = query.get("callers") === "all" ? -1 : number("callers", methods.name.length);
  showCallers(of, true);
  if (query.get("zoom")) zoomed = nodeOfWord(query.get("zoom"));
  const [title, up] = (query.get("sort") ?? "").split(".");
  const column = columnOf(title);
  order = column ? { column, down: up !== "up" } : orderOfReport();
  upright = query.get("root") === "foot";
  const named = words.find((word) => views.some(({ name }) => name === word));
  if (isAllocationTable(named)) setSorting(named, query.get("sort"));
  $("search").value = query.get("find") ?? "";
  search($("search").value);
  show(named ?? "flame");
  crumbs();
  flip(upright);
  if (detailed >= 0) details(detailed);
  isRestoring = false;
}

addEventListener("hashchange", () => {
  const text = location.hash.slice(1);
  if (text === written) return;
  const measure = text.split("?")[0].split("/").find((word) => measures.some((one) => one.measure === word));
  if ((measure ?? measures[0].measure) !== data.measure) location.reload();
  else restore();
});

// ---- Threads ----

function setThread(at) {
  threadChosen = at;
  $("thread").value = at;
  tree = buildTree();
  threadLines();
}

/** Fills the lines about several threads: how to read sums over threads, and the names of those that only waited. */
function threadLines() {
  const isSum = threadChosen < 0;
  const sums = data.sums[isUnfolded ? 1 : 0];
  $("sums").textContent = sums.join(" · ");
  $("sums").hidden = !isSum || !sums.length;
  const { waited } = data;
  const names = waited.slice(0, MOST_NAMED).map(({ at }) => threadName(at));
  if (waited.length > names.length) names.push(`${grouped.format(waited.length - names.length)} more`);
  $("waited-names").textContent = `Only waited (${time(data.waitedTime)}), ${isUnfolded ? "shown" : "not counted"}: ${names.join(", ")}`;
  $("show-waited").textContent = isUnfolded ? "Fold" : "Show";
  $("waited").hidden = !isSum || !waited.length;
}

$("show-waited").addEventListener("click", () => {
  isUnfolded = !isUnfolded;
  chooseThread(threadChosen);
});

function chooseThread(at) {
  setThread(at);
  const of = graph.isCallers ? ofMethod : null;
  showCallers(of, true);
  crumbs();
  search($("search").value);
  if (detailed >= 0) details(detailed);
  remember();
}

$("thread").addEventListener("change", () => chooseThread(Number($("thread").value)));
