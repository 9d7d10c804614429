// ---- Call tree: the graph as text ----

const LIST = 100;
const HEADS = counts
  ? [`${COUNTED} %`, COUNTED, "method"]
  : [...(difference ? ["change"] : []), "total %", "total", "self", COUNTED, "method"];

function treeHead() {
  // Callees are sorted by weight, so the columns have no links for sorting.
  const heads = graph.isCallers && !counts ? HEADS.map((title) => (title === "total %" ? `${ofMethod < 0 ? "self" : "total"} %` : title)) : HEADS;
  const sorted = heads.findIndex((title) => title.endsWith("%"));
  $("tree-columns").replaceChildren(element("tr", {}, ...heads.map((title, at) => {
    const head = element("th", { scope: "col" }, element("span", { text: title + (at === sorted ? arrowOf(true) : "") }));
    if (at === sorted) head.setAttribute("aria-sort", "descending");
    return head;
  })));
}

function treeRow(node, level) {
  const callees = graph.calleesOf(node);
  const row = element("tr", { "aria-level": level + 1, tabindex: 0 });
  const cost = costShown(graph, node);
  if (difference && !counts) {
    const before = graph.costBefore(node);
    row.append(element("td", { text: graph.isCallers && ofMethod < 0 ? changeText(cost.own, before.own) : changeText(cost.total, before.total) }));
  }
  const shown = counts || graph.isCallers ? graph.below[node] : cost.total;
  row.append(share(shown));
  const lane = isThread(graph.method[node]);
  if (!counts) {
    row.append(
      element("td", unsureClass(errorPercent(cost.totalError, cost.total)), lane ? amount(graph.below[node]) : totalText(cost)),
      lane || isType(graph.method[node]) ? element("td") : ownCell(cost),
    );
  }
  row.append(element("td", { text: lane ? "" : grouped.format(cost.calls) }));
  const twisty = element("span", { class: "twisty", text: callees.length ? "▸" : "" });
  const name = element("td", { class: "name" }, element("bdi", { dir: "ltr" }, twisty, nameOf(graph.method[node])));
  // A deep level shows its number instead of an indent, to leave room for names.
  name.style.setProperty("--level", level);
  name.dataset.level = level;
  row.append(name);
  row.node = node;
  row.level = level;
  if (callees.length) row.setAttribute("aria-expanded", "false");
  return row;
}

/** Rows of the callees from index `first` on; the last row is a button that adds more. */
function calleeRows(node, level, first) {
  const callees = graph.calleesOf(node);
  const made = [...callees.slice(first, first + LIST)].map((callee) => treeRow(callee, level));
  const left = callees.length - first - LIST;
  if (left > 0) {
    const row = element("tr", { tabindex: 0 });
    row.append(element("td", { colspan: HEADS.length, class: "rest", text: `… ${grouped.format(left)} more` }));
    row.level = level;
    row.rest = () => row.replaceWith(...calleeRows(node, level, first + LIST));
    made.push(row);
  }
  return made;
}

function unfoldOnce(row) {
  row.setAttribute("aria-expanded", "true");
  row.querySelector(".twisty").textContent = "▾";
  const made = calleeRows(row.node, row.level + 1, 0);
  row.after(...made);
  return made;
}

function unfold(row) {
  if (row.getAttribute("aria-expanded") !== "false") return;
  const made = unfoldOnce(row);
  // If one callee takes most of the caller's time, it is unfolded at once, too.
  const heavy = made[0];
  if (heavy.node !== undefined && graph.below[heavy.node] > 0.9 * graph.below[row.node] && row.level < 200) unfold(heavy);
}

function fold(row) {
  if (row.getAttribute("aria-expanded") !== "true") return;
  row.setAttribute("aria-expanded", "false");
  row.querySelector(".twisty").textContent = "▸";
  while (row.nextElementSibling && row.nextElementSibling.level > row.level) row.nextElementSibling.remove();
}

function callTree() {
  treeHead();
  const roots = calleeRows(-1, 0, 0);
  $("tree-rows").replaceChildren(...roots);
  if (roots.length && !graph.isCallers) unfold(roots[0]);
}

const treeBody = $("tree-rows");
treeBody.addEventListener("click", (event) => {
  const row = event.target.closest("tr");
  if (!row) return;
  if (row.rest) return row.rest();
  treeBody.querySelector(".chosen")?.classList.remove("chosen");
  row.classList.add("chosen");
  row.getAttribute("aria-expanded") === "true" ? fold(row) : unfold(row);
  if (!isThread(graph.method[row.node])) details(graph.method[row.node], row.node);
});
treeBody.addEventListener("keydown", (event) => {
  const row = event.target.closest("tr");
  if (row.rest) { if (event.key === "Enter") row.rest(); return; }
  if (event.key === "ArrowRight") unfold(row);
  else if (event.key === "ArrowLeft") fold(row);
  else if (event.key === "ArrowDown") row.nextElementSibling?.focus();
  else if (event.key === "ArrowUp") row.previousElementSibling?.focus();
  else if (event.key === "Enter" && !isThread(graph.method[row.node])) details(graph.method[row.node], row.node);
  else return;
  event.preventDefault();
});

addView({ name: "tree", title: "Call tree", draw: callTree });
