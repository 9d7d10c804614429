// ---- The table of methods in the chosen threads ----

const STEP = 200;

/** The order of the table: a column and its direction. */
let order;
let shownRows = STEP;

const arrowOf = (isDown) => (isDown ? " ↓" : " ↑");
const ownCell = (cost) => element("td", unsureClass(ownErrorPercent(cost)), ownText(cost));
const unsureClass = (percent) => (percent > UNSURE ? { class: "unsure", title: `± ${errorText(percent)}: mostly error` } : {});
/** Returns the lower end of a self time's interval. Sorting by it keeps unsure times from coming first. */
const atLeast = (cost) => (cost.own ?? 0) - 2 * (isGuess(cost) ? cost.ownError : 0);
const nothing = noCost();

// Narrow screens have no room for minor columns; details show them.
const TIMES = [
  { title: "self %", key: "self", value: ({ now }) => atLeast(now), cell: ({ now }) => share(now.own) },
  { title: "self", value: ({ now }) => atLeast(now), cell: ({ now }) => ownCell(now) },
  { title: "±", minor: true, value: ({ now }) => ownErrorPercent(now), cell: ({ now }) => errorText(ownErrorPercent(now)), when: (rows) => rows.some(({ now }) => ownErrorPercent(now) > 5) },
  { title: "total", value: ({ now }) => now.total ?? 0, cell: ({ now }) => element("td", unsureClass(errorPercent(now.totalError, now.total)), totalText(now)) },
];
const CHANGES = [
  { title: "change", value: ({ now, before }) => Math.abs(weightGrowth("own", now, before)), cell: ({ now, before }) => weightChange("own", now, before) },
  { title: "change, %", minor: true, value: ({ now, before }) => weightGrowth("own", now, before) / (before.own || 1e-9), cell: ({ now, before }) => (areLeast(now, before) ? "" : changePercent(now.own, before.own)) },
  { title: "self before", minor: true, value: ({ before }) => before.own ?? 0, cell: ({ before }) => ownCell(before) },
  { title: "self", value: ({ now }) => atLeast(now), cell: ({ now }) => ownCell(now) },
  { title: "total", minor: true, value: ({ now }) => now.total ?? 0, cell: ({ now }) => totalText(now) },
  { title: "change of total", minor: true, value: ({ now, before }) => Math.abs(weightGrowth("total", now, before)), cell: ({ now, before }) => weightChange("total", now, before) },
];
const COUNTS = [
  { title: `${COUNTED} %`, key: COUNTED, value: ({ now }) => now.calls, cell: ({ now }) => share(now.calls) },
];
const CHANGE_OF_CALLS = { title: `change of ${COUNTED}`, value: ({ now, before }) => (now.callsAreLeast ? 0 : Math.abs(now.calls - before.calls)), cell: ({ now, before }) => callsChange(now, before) };
const SAMPLED = [
  { title: "calls", value: ({ counted }) => counted ?? -1, cell: (row) => countedText(row), when: (rows) => rows.some(({ counted }) => counted !== undefined) },
  { title: "mean", minor: true, value: (row) => sampledMean(row) ?? 0, cell: (row) => amount(sampledMean(row)), when: (rows) => rows.some(({ counted }) => counted !== undefined) },
  { title: "waiting", value: ({ waiting }) => waiting ?? 0, cell: ({ waiting }) => (waiting ? time(waiting) : ""), when: (rows) => rows.some(({ waiting }) => waiting) },
  { title: COUNTED, minor: true, value: ({ now }) => now.calls, cell: ({ now }) => grouped.format(now.calls) },
];
/** Returns the processor time of a call; null where calls were not counted to the end, or no sample met one. */
const sampledMean = ({ now, counted, until }) => (counted && now.total && until === undefined ? now.total / counted : null);
/** Returns the counted calls of a method in a profile of samples; a dash where they were not counted. */
const countedText = ({ counted, until }) => (counted === undefined || (until === 0 && !counted) ? "–" : (until === undefined ? "" : "≥") + grouped.format(counted));
/** Returns the mark of the calls of a method that lost its timing probes, and counts still. */
const lossMark = ({ now, since, lacksLater }) => (since === undefined || now.callsAreLeast ? "" : lacksLater ? "≥‡" : "‡");
const COLUMNS = [
  ...(counts ? (difference ? [] : COUNTS) : difference ? CHANGES : TIMES),
  ...(difference ? [CHANGE_OF_CALLS] : []),
  ...(sampled && !difference ? SAMPLED : [{ title: COUNTED, value: ({ now }) => now.calls, cell: (row) => lossMark(row) + callCount(row.now) }]),
  ...(counts || difference || sampled ? [] : [{ title: "mean", minor: true, value: ({ now }) => meanOf(now) ?? 0, cell: ({ now }) => meanText(now) }]),
  ...(difference ? [] : [{ title: "p99", minor: true, value: ({ latency }) => latency?.percentiles[P99] ?? -1, cell: ({ latency }) => (latency ? `${latency.isPartial ? "†" : ""}${time(latency.percentiles[P99])}` : "–"), when: (rows) => rows.some(({ latency }) => latency) }]),
  { title: "method", value: ({ method }) => methods.name[method], cell: ({ method }) => element("td", {}, nameOf(method)) },
];

const columnOf = (title) => COLUMNS.find((column) => column.title === title);

/** Returns the column and the direction that `--sort` names. */
function orderOfReport() {
  const wanted = { calls: sampled && !difference ? "calls" : COUNTED, name: "method", self: difference && !counts ? "change" : "self" }[data.sort] ?? data.sort;
  const first = difference && wanted === COUNTED ? CHANGE_OF_CALLS : columnOf(wanted);
  const column = first ?? (difference ? CHANGE_OF_CALLS : columnOf(COUNTED));
  return { column, down: column.title !== "method" };
}

const inOrder = () => {
  const sign = order.down ? -1 : 1;
  const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  const found = methodRows().filter(({ method }) => !sought || isFound(method));
  const keyed = found.map((row) => ({ row, key: order.column.value(row) }));
  keyed.sort((a, b) => sign * compare(a.key, b.key) || (b.row.now.own ?? 0) - (a.row.now.own ?? 0) || b.row.now.calls - a.row.now.calls
    || compare(methods.name[a.row.method], methods.name[b.row.method]));
  return keyed.map(({ row }) => row);
};

function methodTable() {
  const all = methodRows();
  const columns = COLUMNS.filter(({ when }) => !when || when(all));
  $("columns").replaceChildren(element("tr", {}, ...columns.map((column) => {
    const head = element("th", { scope: "col", class: column.minor ? "minor" : "" });
    const isSorted = order.column === column || order.column.title === column.key;
    if (isSorted) head.setAttribute("aria-sort", order.down ? "descending" : "ascending");
    const arrow = order.column === column ? arrowOf(order.down) : "";
    head.append(element("button", { text: column.title + arrow, onclick: () => sortBy(column) }));
    return head;
  })));
  const rows = inOrder();
  $("rows").replaceChildren(...rows.slice(0, shownRows).map((row) => {
    const line = element("tr", { tabindex: 0, onclick: () => details(row.method) });
    line.addEventListener("keydown", (event) => { if (event.key === "Enter") details(row.method); });
    if (detailed === row.method && !$("details").hidden) line.classList.add("chosen");
    for (const column of columns) {
      const cell = column.cell(row);
      const made = cell instanceof HTMLTableCellElement ? cell : element("td", {}, cell);
      if (column.minor) made.classList.add("minor");
      line.append(made);
    }
    return line;
  }));
  const left = rows.length - shownRows;
  $("more").hidden = left <= 0;
  $("more").textContent = `Show ${grouped.format(Math.min(left, 5 * STEP))} more of ${grouped.format(Math.max(left, 0))}`;
}

function sortBy(column) {
  const meant = columnOf(column.key) ?? column;
  order = { column: meant, down: order.column === meant ? !order.down : meant.title !== "method" };
  methodTable();
  remember();
}

$("more").addEventListener("click", () => { shownRows += 5 * STEP; methodTable(); });

addView({ name: "methods", title: "Methods", draw: () => (allocations ? allocationTable("methods") : methodTable()) });
