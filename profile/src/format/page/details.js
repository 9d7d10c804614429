// ---- Details: a method, its callers and callees in the chosen threads, and the node from which
// the details were opened ----

let detailed = -1;
let detailedNode = -1; // the node from which the details were opened

/** The titles of a method's percentiles, in their order. */
const PERCENTILES = ["p50", "p90", "p99", "p99.9", "max"];
const P99 = 2;

const FIGURES = [
  ...(counts ? [] : [
    { title: "total", value: (cost) => cost.total, text: totalText, error: (cost) => errorPercent(cost.totalError, cost.total), isPart: true },
    { title: "self", value: (cost) => cost.own, text: ownText, error: ownErrorPercent, isPart: true },
    ...(sampled ? [] : [{ title: "mean", value: meanOf, text: meanText, error: () => 0 }]),
  ]),
  { title: COUNTED, value: (cost) => cost.calls, text: callCount, error: () => 0, isCount: true },
];

/** Returns a figure with its error and its percentage of the whole. */
function figure({ value, text, error, isPart }, cost) {
  const off = errorText(error(cost));
  const cell = element("td", unsureClass(error(cost)), `${text(cost)}${off ? ` ± ${off}` : ""}`);
  if (isPart && value(cost) !== null) cell.append(element("span", { class: "part", text: `  ${percent(value(cost))}` }));
  return cell;
}

function change({ value, isCount, isPart }, now, before) {
  const [a, b] = [value(before), value(now)];
  const isUnknown = isCount ? callsChange(now, before) === "–" : isPart && areLeast(now, before);
  if (isUnknown) return element("td", { text: "–" });
  return element("td", { text: `${isCount ? countChange(b, a) : changeText(b, a)} ${changePercent(b, a)}` });
}

/** Returns the figures as tables, with a row for each figure and a column for each cost: { title, now, before }. In
 * pages of differences each cost has a table of its own. */
function figures(costs, ofType) {
  // A type calls nothing, so its own and its total are the same.
  const shown = FIGURES.filter(({ title }) => title !== "self" || !ofType);
  const table = (heads, cells) => element("table", { class: "figures" },
    element("thead", {}, element("tr", {}, ...heads.map((text) => element("th", { scope: "col", text })))),
    element("tbody", {}, ...shown.map((one) => element("tr", {}, element("th", { scope: "row", text: one.title }), ...cells(one)))));
  if (!difference) return [table(["", ...costs.map(({ title }) => title)], (one) => costs.map(({ now }) => figure(one, now)))];
  return costs.map(({ title, now, before }) =>
    table([title, "before", "after", "change"], (one) => [figure({ ...one, isPart: false }, before), figure({ ...one, isPart: false }, now), change(one, now, before)]));
}

/** Returns the table of a method's percentiles: durations that a part of the calls do not exceed. */
function latencyFigures({ latency, now }) {
  if (!latency) return [];
  const { calls, percentiles, isPartial } = latency;
  const all = isPartial ? `† ${grouped.format(calls)} of ${counted(now.calls, "call", "calls")}` : counted(calls, "call", "calls");
  return [element("table", { class: "figures" },
    element("thead", {}, element("tr", {}, element("th", { scope: "col", text: "" }), element("th", { scope: "col", text: all }))),
    element("tbody", {}, ...PERCENTILES.map((title, at) =>
      element("tr", {}, element("th", { scope: "row", text: title }), element("td", { text: time(percentiles[at]) })))))];
}

function details(method, node = -1) {
  detailed = method;
  detailedNode = node;
  const wasHidden = $("details").hidden;
  $("details").hidden = false;
  $("details-name").replaceChildren(nameOf(method));
  const facts = [];
  if (data.threads.length > 1) facts.push(threadChosen < 0 ? "all threads" : `thread ${threadName(threadChosen)}`);
  if (methods.file[method]) facts.push(methods.file[method] + (methods.line[method] ? `:${methods.line[method]}` : ""));
  const loaders = methods.loaders[method];
  if (loaders > 1) facts.push(`in ${grouped.format(loaders)} loaders, the first ${methods.loader[method]}`);
  else if (methods.loader[method]) facts.push(`loader ${methods.loader[method]}`);
  const row = rowOf(method);
  if (sampled && row?.counted) facts.push(`${row.until === undefined ? "" : "≥"}${counted(row.counted, "call", "calls")}`);
  if (row?.since !== undefined) facts.push(`${row.since ? `not timed ${afterText(row.since)}` : "not timed in this profile"}${row.until === undefined ? ", only counted" : ""}`);
  if (row?.until !== undefined) facts.push(`not counted ${afterText(row.until)}`);
  if (row?.waiting) facts.push(`waiting ${time(row.waiting)}, callees included`);
  $("details-facts").textContent = facts.join(" · ");
  const lines = row ? [{ title: "in all", now: row.now, before: row.before }] : [];
  if (node !== -1 && !graph.isCallers) {
    lines.unshift({ title: "this frame", now: costShown(graph, node), before: difference ? graph.costBefore(node) : null });
  }
  $("details-figures").replaceChildren(...(lines.length ? figures(lines, isType(method)) : []), ...(row ? latencyFigures(row) : []));
  $("zoom-here").hidden = node === -1;
  $("zoom-here").onclick = () => { if (view !== "flame") show("flame"); zoomTo(node); };
  $("callers-graph").onclick = () => showCallers(method);
  $("find-all").onclick = () => { $("search").value = methods.name[method]; search(methods.name[method]); remember(); };
  const { callers, callees } = neighbours(method);
  list("callers", callers);
  // Types are shown in a list of their own, with their lines.
  list("callees", callees.filter((edge) => !isType(edge.method)));
  allocationDetails(method);
  if (wasHidden) draw();
  if (isAllocationTable(view)) allocationTable(view);
  else if (view === "methods") markRow();
}

function list(id, edges) {
  const weightOf = ({ now }) => (counts ? now.calls : now.total ?? 0);
  edges.sort((a, b) => weightOf(b) - weightOf(a));
  const made = edges.map((edge) => {
    const { method, now, before } = edge;
    const row = element("tr", { tabindex: method < 0 ? -1 : 0 }, share(counts ? now.calls : now.total));
    if (!counts && !difference) row.append(element("td", { text: totalText(now) }));
    row.append(element("td", { text: sampled ? callsText(now.calls) : `${grouped.format(now.calls)} ×` }));
    if (before) row.append(element("td", { text: counts ? countChange(now.calls, before.calls) : changeText(now.total, before.total) }));
    row.append(element("td", {}, method < 0 ? "(thread start)" : nameOf(method)));
    if (method >= 0) {
      row.addEventListener("click", () => details(method));
      row.addEventListener("keydown", (event) => { if (event.key === "Enter") details(method); });
    }
    return row;
  });
  $(id).replaceChildren(...(made.length ? made : [element("tr", {}, element("td", { text: "none" }))]));
}

function markRow() {
  $("rows").querySelector(".chosen")?.classList.remove("chosen");
  const at = inOrder().findIndex(({ method }) => method === detailed);
  $("rows").children[at]?.classList.add("chosen");
}

function closeDetails() {
  if ($("details").hidden) return;
  $("details").hidden = true;
  detailed = -1;
  refresh();
}

$("close").addEventListener("click", closeDetails);
$("details").addEventListener("keydown", (event) => { if (event.key === "Escape") closeDetails(); });
