// ---- Sites, types and methods: tables of allocations ----

const ALLOCATION_TABLES = ["sites", "types", "methods"];
const isAllocationTable = (name) => Boolean(allocations) && ALLOCATION_TABLES.includes(name);
const tableId = (table, part) => (table === "methods" ? part : `${table}-${part}`);
// For each table: the key and the direction of the sorted column; the number of rows shown.
const sorting = {};
const lengths = {};

// ---- Names ----

const simpleName = (type) => methods.name[type].slice(packageEnd(type));

/** Returns a type's name without its package, unless another type has the same simple name. */
function typeName(type) {
  if (!data.namedAlike) {
    const counts = (data.namedAlike = new Map());
    for (const { type: one } of addedUp("types", -1)) counts.set(simpleName(one), (counts.get(simpleName(one)) ?? 0) + 1);
  }
  const name = nameOf(type);
  if (data.namedAlike.get(simpleName(type)) === 1) name.querySelector(".package").remove();
  return name;
}

function siteName({ method, line }) {
  if (method < 0) return element("bdi", { text: VIRTUAL_MACHINE });
  const name = nameOf(method);
  if (line) name.append(`:${line}`);
  return name;
}

/** Returns the type's name below its site, for narrow screens, which have no column for types. */
const siteAndType = (row) => element("bdi", { dir: "ltr" }, siteName(row), element("span", { class: "type-below" }, typeName(row.type)));

// ---- Columns ----

/** Returns the columns of one amount: bytes, their error if any row has one, objects, and the age of live objects. */
function amountColumns(rows, titles, part, measure) {
  const of = (row) => row[part][measure];
  const key = `${part} ${measure}`;
  const made = [{
    key, title: titles.bytes, value: (row) => of(row).bytes ?? -1,
    cell: (row) => element("td", unsureClass(byteError(of(row))), sized(of(row))),
  }];
  if (rows.some((row) => errorText(byteError(of(row))))) {
    made.push({ key: `${key} error`, title: "±", value: (row) => byteError(of(row)), cell: (row) => errorText(byteError(of(row))) });
  }
  made.push({ key: `${key} objects`, title: titles.objects, value: (row) => of(row).objects, cell: (row) => grouped.format(of(row).objects) });
  if (measure === "live" && part === "self") {
    const age = (row) => (of(row).objects ? of(row).ages / of(row).objects : -1);
    const about = "Mean number of garbage collections that the objects have survived";
    made.push({ key: "age", title: "age", about, value: age, cell: (row) => (age(row) < 0 ? "" : fixed[1].format(age(row))) });
  }
  return made;
}

function allocationColumns(table, rows) {
  const { measure } = data;
  const known = (row) => row.self[measure].bytes ?? 0;
  const shares = { key: `self ${measure}`, isShare: true, value: known, cell: (row) => share(known(row)) };
  const method = {
    key: "name", title: "method", isText: true, value: (row) => methods.name[row.method] ?? VIRTUAL_MACHINE,
    cell: (row) => element("td", {}, siteName(row)),
  };
  if (table === "methods") {
    const totals = allocations.callers ? amountColumns(rows, { bytes: "total", objects: "total objects" }, "total", measure) : [];
    return [{ ...shares, title: "self %" }, ...amountColumns(rows, { bytes: "self", objects: "self objects" }, "self", measure), ...totals, method];
  }
  const other = { live: "allocated", allocated: "live" }[measure];
  const titles = (of) => (allocations.live ? { bytes: of, objects: `${of} objects` } : { bytes: "bytes", objects: "objects" });
  const names = table === "types"
    ? [{ ...method, title: "type", value: (row) => methods.name[row.type], cell: (row) => element("td", {}, nameOf(row.type)) }]
    : [
      { key: "type", title: "type", isText: true, kind: "type", value: (row) => simpleName(row.type), cell: (row) => element("td", {}, typeName(row.type)) },
      { ...method, title: "allocated at", cell: (row) => element("td", {}, siteAndType(row)) },
    ];
  return [
    { ...shares, title: measure === "live" ? "live %" : "bytes %" },
    ...amountColumns(rows, titles(measure), "self", measure),
    ...(allocations.live ? amountColumns(rows, titles(other), "self", other) : []),
    ...names,
  ];
}

// ---- Order ----

/** Returns the column and the direction that `--sort` names. */
function firstSorting(table) {
  const key = { calls: `self ${data.measure} objects`, name: "name" }[data.sort];
  const isTotal = data.sort === "total" && table === "methods" && allocations.callers;
  return { key: key ?? `${isTotal ? "total" : "self"} ${data.measure}`, down: key !== "name" };
}

/** Returns the order as a link contains it: empty for the table's default order. */
function sortingWord(table) {
  const [first, now] = [firstSorting(table), sorting[table] ?? firstSorting(table)];
  return first.key === now.key && first.down === now.down ? "" : `${now.key}${now.down ? "" : ".up"}`;
}

function setSorting(table, word) {
  const [key, up] = (word ?? "").split(".");
  sorting[table] = key ? { key, down: up !== "up" } : firstSorting(table);
}

function sortAllocations(table, column) {
  const now = sorting[table];
  sorting[table] = { key: column.key, down: now.key === column.key ? !now.down : !column.isText };
  allocationTable(table);
  remember();
}

// ---- The table ----

/** Returns whether the searched text is in the name of a method or type, or in a site's `method:line`. */
function isRowFound({ method, line, type }) {
  const site = method === undefined ? "" : method < 0 ? VIRTUAL_MACHINE : `${lower()[method]}${line ? `:${line}` : ""}`;
  return site.includes(sought) || (type !== undefined && lower()[type].includes(sought));
}

/** Returns a text with the sum of the rows found; in the table of methods, of the methods' own allocations. */
function foundAllocations(table) {
  const found = addedUp(table).filter(isRowFound);
  const sum = found.reduce((sum, row) => sum + (row.self[data.measure].bytes ?? 0), 0);
  return `${grouped.format(found.length)} found, ${percent(sum)} of the bytes`;
}

function allocationTable(table) {
  const all = addedUp(table);
  const columns = allocationColumns(table, all);
  sorting[table] ??= firstSorting(table);
  const sort = sorting[table];
  // A link may name a column that this profile does not have.
  const by = columns.find((column) => column.key === sort.key) ?? columns[1];
  $(tableId(table, "columns")).replaceChildren(element("tr", {}, ...columns.map((column) => {
    const isSorted = column.key === by.key;
    const head = element("th", { scope: "col", class: column.kind ?? "", ...(isSorted ? { "aria-sort": sort.down ? "descending" : "ascending" } : {}) });
    // The percentage and its bytes sort alike; the column of bytes shows the arrow.
    const arrow = isSorted && !column.isShare ? arrowOf(sort.down) : "";
    head.append(element("button", { text: column.title + arrow, title: column.about ?? "", onclick: () => sortAllocations(table, column) }));
    return head;
  })));
  const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  const amountOf = (row) => row.self[data.measure];
  const rows = (sought ? all.filter(isRowFound) : [...all]).sort((a, b) =>
    (sort.down ? -1 : 1) * compare(by.value(a), by.value(b))
    || compare(amountOf(b).bytes ?? -1, amountOf(a).bytes ?? -1)
    || amountOf(b).objects - amountOf(a).objects);
  const shown = lengths[table] ?? STEP;
  const lines = rows.slice(0, shown).map((row) => allocationLine(row, columns));
  if (!lines.length) lines.push(element("tr", {}, element("td", { class: "rest", colspan: columns.length, text: nothingText(all) })));
  $(tableId(table, "rows")).replaceChildren(...lines);
  const left = rows.length - shown;
  const more = $(tableId(table, "more"));
  more.hidden = left <= 0;
  more.textContent = `Show ${grouped.format(Math.min(left, 5 * STEP))} more of ${grouped.format(Math.max(left, 0))}`;
  more.onclick = () => { lengths[table] = shown + 5 * STEP; allocationTable(table); };
}

function allocationLine(row, columns) {
  const named = row.method ?? row.type;
  const open = () => { if (named >= 0) details(named); };
  const line = element("tr", { tabindex: 0, onclick: open });
  line.addEventListener("keydown", (event) => { if (event.key === "Enter") open(); });
  if (detailed === named && named >= 0 && !$("details").hidden) line.classList.add("chosen");
  for (const column of columns) {
    const cell = column.cell(row);
    const made = cell instanceof HTMLTableCellElement ? cell : element("td", {}, cell);
    if (column.kind) made.classList.add(column.kind);
    line.append(made);
  }
  return line;
}

function nothingText(all) {
  if (all.length) return "No name contains this text.";
  return allocations.together && threadChosen >= 0
    ? "This thread allocated too little to have a table of its own: its rows are part of the table for all threads together. The flame graph and the call tree show its allocations."
    : nothingDrawn();
}

// ---- Details: the sites of a method or of a type ----

function allocationDetails(method) {
  const ofType = isType(method);
  $("callers-part").hidden = ofType;
  $("callees-part").hidden = ofType;
  $("made-part").hidden = !allocations;
  if (!allocations) return;
  const of = (row) => row.self[data.measure];
  const sites = addedUp("sites").filter((row) => (ofType ? row.type : row.method) === method && of(row).objects);
  sites.sort((a, b) => (of(b).bytes ?? -1) - (of(a).bytes ?? -1) || of(b).objects - of(a).objects);
  const made = sites.map((row) => {
    const other = ofType ? row.method : row.type;
    const name = ofType ? siteName(row) : element("bdi", { dir: "ltr" }, typeName(row.type), row.line ? ` in line ${row.line}` : "");
    const open = () => { if (other >= 0) details(other); };
    const line = element("tr", { tabindex: other < 0 ? -1 : 0, onclick: open }, share(of(row).bytes ?? 0),
      element("td", unsureClass(byteError(of(row))), sized(of(row))),
      element("td", { text: `${grouped.format(of(row).objects)} ×` }), element("td", {}, name));
    line.addEventListener("keydown", (event) => { if (event.key === "Enter") open(); });
    return line;
  });
  $("made-title").textContent = ofType ? "Allocated at" : "Allocates";
  $("made").replaceChildren(...(made.length ? made : [element("tr", {}, element("td", { text: "nothing itself" }))]));
}

if (allocations) {
  addView({ name: "sites", title: "Sites", draw: () => allocationTable("sites") });
  addView({ name: "types", title: "Types", draw: () => allocationTable("types") });
}
