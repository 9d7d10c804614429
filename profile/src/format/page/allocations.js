// ---- Allocations by site, type and method ----
//
// Rows come from html/allocations.rs: one for each place in the code, type and thread, and one for
// each method with its callees and thread. This file sums the rows of the chosen threads.

const VIRTUAL_MACHINE = "the virtual machine"; // shown for the method number -1

/** Returns whether a method stands for a type of allocated objects. Pages of differences treat types
 * as methods, so this function always returns false there. */
const isType = (method) => Boolean(allocations) && !isThread(method) && method >= allocations.firstType;

const newAmount = () => ({ bytes: null, objects: 0, variance: 0, unsized: 0, ages: 0 });

/** Adds the row `at` of the columns. A column of zeros is written as 0. */
function addAmount(sum, columns, at) {
  const value = (column) => (column === 0 ? 0 : column[at]);
  const bytes = columns.bytes[at];
  if (bytes !== null) sum.bytes = (sum.bytes ?? 0) + bytes;
  const objects = value(columns.objects);
  sum.objects += objects;
  sum.variance += value(columns.variance);
  sum.unsized += value(columns.unsized);
  sum.ages += value(columns.age ?? 0) * objects;
}

/** Returns the rows of a table (sites, types or methods) for all threads or the chosen one: { method, line, type,
 * self, total }. Self and total hold an amount for each measure. */
function addedUp(table, thread = threadChosen) {
  const known = `${table} ${Math.max(thread, -1)}`;
  const added = (data.added ??= new Map());
  if (added.has(known)) return added.get(known);
  const rows = new Map();
  const add = (key, names, part, amounts, at) => {
    let row = rows.get(key);
    if (!row) rows.set(key, row = { ...names, self: {}, total: {} });
    for (const [measure, columns] of Object.entries(amounts)) addAmount(row[part][measure] ??= newAmount(), columns, at);
  };
  const { sites, methods: called } = allocations;
  const isChosen = (of) => thread < 0 || of === thread;
  sites.thread.forEach((of, at) => {
    if (!isChosen(of)) return;
    const [method, line, type] = [sites.method[at], sites.line[at], sites.type[at]];
    if (table === "types") add(type, { type }, "self", sites.amounts, at);
    else if (table === "methods") add(method, { method }, "self", sites.amounts, at);
    else add(`${method} ${line} ${type}`, { method, line, type }, "self", sites.amounts, at);
  });
  if (table === "methods") {
    called.thread.forEach((of, at) => {
      if (isChosen(of)) add(called.method[at], { method: called.method[at] }, "total", called.amounts, at);
    });
  }
  let made = [...rows.values()];
  // Adds methods of which only callees allocate.
  for (const row of made) for (const measure of Object.keys(sites.amounts)) row.self[measure] ??= newAmount();
  // The table of methods shows one measure. For live objects, methods without any are left out.
  if (table === "methods") made = made.filter((row) => row.total[data.measure].objects);
  added.set(known, made);
  return made;
}

// ---- Amounts as text ----

/** Bytes with their marks; a dash if no object's size is known. */
const sized = (amount) => (amount.objects
  ? marked(amount.unsized ? "≥" : "", allocations.sampled && amount.bytes, amount.bytes)
  : bytes(0));

const byteError = (amount) => errorPercent(Math.sqrt(amount.variance), amount.bytes);

const amountText = (amount, about = "") =>
  `${sized(amount)} in ${about}${counted(amount.objects, "object", "objects")}`;

/** Returns a text with the sum of all allocations, and how they were recorded. */
function amountFacts() {
  const all = addedUp("types", -1);
  const about = allocations.sampled ? "~" : "";
  const sum = (measure) => all.reduce((sum, { self: { [measure]: one } }) => ({
    ...sum,
    bytes: one.bytes === null ? sum.bytes : (sum.bytes ?? 0) + one.bytes,
    objects: sum.objects + one.objects,
    unsized: sum.unsized + one.unsized,
  }), newAmount());
  const facts = [`allocated ${amountText(sum("allocated"), about)}`];
  if (allocations.live) facts.push(`alive ${amountText(sum("live"), about)}`);
  return [...facts, allocations.seen].join(" · ");
}

/** Returns a warning if no callers were recorded. `--alloc exact` records them only with `--alloc-context`. */
function allocationWarnings() {
  const isFlat = !allocations.callers && allocations.sites.method.some((method) => method >= 0);
  return isFlat ? ["Callers were not recorded, so there are no totals, and the flame graph is flat; run again with --alloc-context"] : [];
}

// ---- Costs, for flame graph, call tree and details ----

/** Returns the cost of a method or a type in the form of a row of methods; null if it allocated nothing. */
function allocationCost(method) {
  const row = addedUp(isType(method) ? "types" : "methods").find((row) => (row.method ?? row.type) === method);
  if (!row) return null;
  const own = row.self[data.measure];
  const total = isType(method) ? own : row.total[data.measure];
  return {
    ...noCost(),
    calls: total.objects,
    own: own.objects ? own.bytes : 0,
    ownPartial: own.unsized > 0,
    total: total.bytes,
    timed: total.objects - total.unsized,
    timedTotal: total.bytes ?? 0,
    ownError: Math.sqrt(own.variance),
    totalError: Math.sqrt(total.variance),
    estimated: allocations.sampled,
    partial: total.unsized > 0,
  };
}

/** Returns the cost of a node. In the tree types are callees, so a method's own allocations are those of the types
 * right below it. */
function costShown(tree, node) {
  const cost = tree.cost(node);
  if (!allocations || tree.isCallers || isType(tree.method[node])) return cost;
  const types = [...tree.calleesOf(node)].filter((callee) => isType(tree.method[callee])).map((type) => tree.cost(type));
  const sum = noCost();
  for (const type of types) addCost(sum, type);
  return { ...cost, own: types.length ? sum.own : 0, ownError: sum.ownError, ownPartial: sum.partial };
}
