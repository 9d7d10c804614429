// The page's data: one entry for each measure. Trees and tables have the compact form of
// html/encode.rs. The trees and tables of a thread are decoded when they are first needed.

const $ = (id) => document.getElementById(id);
let measures = JSON.parse($("data").textContent);
let data; // the entry of the chosen measure
let methods;
let allocations; // undefined for times and for differences

/** Shows one measure. Values computed from the measure's data are kept in its entry, and are dropped with it. */
function setData(chosen) {
  data = chosen;
  ({ methods, allocations } = data);
  data.threads.forEach((thread, at) => { thread.at = at; });
  data.waited = data.threads.filter((thread) => thread.waited);
  data.waitedTime = data.waited.reduce((sum, thread) => sum + thread.whole, 0);
}

const linked = (location.hash.slice(1).split("?")[0] || "").split("/");
setData(measures.find(({ measure }) => measure === linked[0]) ?? measures[0]);
const { counts, difference, sampled } = data;

// Flags of a cost, as html/lanes.rs writes them.
const ESTIMATED = 1;
const NO_OWN = 2;
const NO_TOTAL = 4;
const TIMED = 8;
const TOTAL = 16;
const ERRORS = 32;
const BOUND = 64;
const PARTIAL = 128;

function bytesOf(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  return bytes;
}

/** Reads numbers of 7 bits in each byte, the lowest bits first. */
class Reader {
  constructor(base64) {
    this.bytes = bytesOf(base64);
    this.at = 0;
  }

  next() {
    let byte = this.bytes[this.at++];
    if (byte < 128) return byte;
    let value = byte & 127;
    let scale = 128;
    do {
      byte = this.bytes[this.at++];
      value += (byte & 127) * scale;
      scale *= 128;
    } while (byte > 127);
    return value;
  }
}

/** Returns the columns of `count` costs. Unknown times are NaN. */
function columns(count) {
  return {
    flags: new Uint8Array(count),
    calls: new Float64Array(count),
    own: new Float64Array(count),
    total: new Float64Array(count),
    ownError: new Float32Array(count),
    totalError: new Float32Array(count),
    timed: new Map(), // if some calls have no known time: the number of calls with known times, and their time
  };
}

/** Reads one cost. A total that is not written is own plus the totals of the callees; it is -1 until the callees are
 * read. */
function readCost(reader, into, at) {
  const flags = reader.next();
  into.flags[at] = flags;
  into.calls[at] = reader.next();
  into.own[at] = flags & NO_OWN ? NaN : reader.next();
  into.total[at] = flags & TOTAL ? reader.next() : flags & NO_TOTAL ? NaN : -1;
  if (flags & TIMED) into.timed.set(at, [reader.next(), reader.next()]);
  if (flags & ERRORS) {
    into.ownError[at] = reader.next();
    into.totalError[at] = reader.next();
  }
}

/** Reads the entries of a table: `keys` numbers for each entry, then the present and the earlier cost. */
function readTable({ count, numbers }, keys) {
  const reader = new Reader(numbers);
  const table = { keys: keys.map(() => new Int32Array(count)), now: columns(count), before: difference ? columns(count) : null };
  for (let at = 0; at < count; at++) {
    for (const key of table.keys) key[at] = reader.next();
    readCost(reader, table.now, at);
    if (table.before) readCost(reader, table.before, at);
  }
  return table;
}

/** Returns the nodes, rows or edges of a thread; decoded once, at the first call. */
function part(thread, name, keys) {
  const memo = `${name}Read`;
  thread[memo] ??= readTable(thread[name], keys);
  return thread[memo];
}

const nodesOf = (thread) => part(thread, "nodes", ["distance", "method"]);
const rowsOf = (thread) => part(thread, "rows", ["method"]);
const edgesOf = (thread) => part(thread, "edges", ["caller", "callee"]);

// ---- One cost ----

const noCost = () => ({ calls: 0, own: 0, total: 0, timed: 0, timedTotal: 0, ownError: 0, totalError: 0, estimated: false, bound: false, partial: false, callsAreLeast: false });

const known = (value) => (Number.isNaN(value) ? null : value);

function costAt(table, at) {
  const flags = table.flags[at];
  const all = flags & NO_OWN ? [0, 0] : [table.calls[at], table.total[at]];
  const [timed, timedTotal] = table.timed.get(at) ?? all;
  return {
    calls: table.calls[at],
    own: known(table.own[at]),
    total: known(table.total[at]),
    timed,
    timedTotal,
    ownError: table.ownError[at],
    totalError: table.totalError[at],
    estimated: Boolean(flags & ESTIMATED),
    bound: Boolean(flags & BOUND),
    partial: Boolean(flags & PARTIAL),
  };
}

/** Adds `other` to `sum`. If only one of them has a value, the sum is that value. */
function addCost(sum, other) {
  if (!sum.calls) return Object.assign(sum, other);
  const added = (a, b) => (a === null ? b : b === null ? a : a + b);
  sum.calls += other.calls;
  sum.own = added(sum.own, other.own);
  sum.total = added(sum.total, other.total);
  sum.timed += other.timed;
  sum.timedTotal += other.timedTotal;
  sum.ownError = Math.hypot(sum.ownError, other.ownError);
  sum.totalError = Math.hypot(sum.totalError, other.totalError);
  sum.estimated ||= other.estimated;
  sum.bound ||= other.bound;
  sum.partial ||= other.partial;
  return sum;
}

// ---- The chosen threads ----

const SIDE_BY_SIDE = -1;
const LAID_OVER = -2;
let threadChosen = SIDE_BY_SIDE;

// Threads that only waited are folded into the line at the foot, until it is unfolded. The other threads are
// then 100 %, as in `report`.
let isUnfolded = false;

const shownThreads = () => (isUnfolded ? data.threads : data.threads.filter((thread) => !thread.waited));
const chosenThreads = () => (threadChosen < 0 ? shownThreads() : [data.threads[threadChosen]]);
/** Returns the 100 %: the time of all shown threads or, as in `report --thread`, of the chosen one. */
const whole = () => (threadChosen < 0 ? data.whole - (isUnfolded ? 0 : data.waitedTime) : data.threads[threadChosen].whole);

/** Returns the methods called in the chosen threads. */
function methodRows() {
  const choice = `${threadChosen} ${isUnfolded}`;
  if (data.table?.choice === choice) return data.table.rows;
  const rows = new Map();
  for (const thread of chosenThreads()) {
    const { keys: [method], now, before } = rowsOf(thread);
    for (let at = 0; at < method.length; at++) {
      let row = rows.get(method[at]);
      if (!row) rows.set(method[at], row = { method: method[at], now: noCost(), before: difference ? noCost() : null });
      if (now.calls[at]) addCost(row.now, costAt(now, at));
      if (before?.calls[at]) addCost(row.before, costAt(before, at));
    }
  }
  addCounted(rows);
  data.table = { choice, rows: [...rows.values()], byMethod: rows };
  return data.table.rows;
}

function rowOf(method) {
  if (allocations) {
    const now = allocationCost(method);
    return now && { method, now };
  }
  methodRows();
  return data.table.byMethod.get(method);
}

/** Adds to the rows what no tree has: calls that were counted without their callers, durations, and waiting. */
function addCounted(rows) {
  const rowFor = (method) => {
    // The times of this method are not known.
    if (!rows.has(method)) rows.set(method, { method, now: { ...noCost(), ...(counts || sampled ? {} : { own: null, total: null }) }, before: difference ? noCost() : null });
    return rows.get(method);
  };
  for (const [method, calls] of threadChosen < 0 ? data.methodCalls : []) {
    // Options have left out the calls of this method that no tree has.
    if (calls === null) continue;
    const row = rowFor(method);
    row.counted = calls;
    if (!sampled) {
      row.now.calls += calls;
      row.now.partial ||= !counts;
    }
  }
  // A method that lost probes has no times after that moment, and no calls after the loss of its last probe. Samples
  // cover all its time.
  for (const [method, calls, since, until] of data.methodCalls) {
    const row = rows.get(method);
    if (!row) continue;
    if (since !== null) row.since = since;
    row.lacksLater = threadChosen >= 0 || calls === null;
    if (until !== null) row.until = until;
    row.now.partial ||= !sampled && (since ?? until) !== null;
    row.now.callsAreLeast = !sampled && until !== null;
  }
  for (const method of data.partlyCounted ?? []) {
    const row = rows.get(method);
    if (row) row.now.callsAreLeast = row.before.callsAreLeast = true;
  }
  // Durations of calls are known for all threads together only.
  for (const [method, calls, percentiles] of (threadChosen < 0 && data.latencies) || []) {
    const row = rows.get(method);
    if (row) row.latency = { calls, percentiles, isPartial: (row.now.calls - calls) * 100 > row.now.calls };
  }
  for (const thread of chosenThreads()) {
    for (const [method, ns] of thread.waiting) {
      const row = rows.get(method);
      if (row) row.waiting = (row.waiting ?? 0) + ns;
    }
  }
}

/** Callers and callees of a method in the chosen threads, by the method at the other end (-1: thread start). */
function neighbours(method) {
  const callers = new Map();
  const callees = new Map();
  for (const thread of chosenThreads()) {
    const { keys: [caller, callee], now, before } = edgesOf(thread);
    for (let at = 0; at < callee.length; at++) {
      // The file numbers callers from 1 on; 0 stands for the thread's start.
      const ends = [];
      if (callee[at] === method) ends.push([callers, caller[at] - 1]);
      if (caller[at] - 1 === method) ends.push([callees, callee[at]]);
      for (const [side, other] of ends) {
        let edge = side.get(other);
        if (!edge) side.set(other, edge = { method: other, now: noCost(), before: difference ? noCost() : null });
        if (now.calls[at]) addCost(edge.now, costAt(now, at));
        if (before?.calls[at]) addCost(edge.before, costAt(before, at));
      }
    }
  }
  return { callers: [...callers.values()], callees: [...callees.values()] };
}
