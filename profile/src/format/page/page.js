"use strict";
// Data comes in columns; see html.rs. A node is an index into the columns of
// the tree shown, a method one into those of `methods`.
// Of each measure; a link can name the one to show: report.html#live, #allocated/tree.
const measures = JSON.parse(document.getElementById("data").textContent);
const wanted = location.hash.slice(1).split("/");
const data = measures.find(({ measure }) => measure === wanted[0]) ?? measures[0];
const { methods, rows, edges, counts } = data;
const $ = (id) => document.getElementById(id);

// ---- Numbers and names ----

const grouped = new Intl.NumberFormat("en-US");
// By decimals.
const fixed = [0, 1, 2].map((digits) =>
  new Intl.NumberFormat("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits }));
// Of allocations bytes stand in the place of times, and objects in that of calls.
const ofBytes = data.measure !== "time";
const COUNTED = ofBytes ? "objects" : "calls";
const callsText = (calls) => `${grouped.format(calls)} ${calls === 1 ? COUNTED.slice(0, -1) : COUNTED}`;
const UNITS = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]];

/** A time, or bytes; of null, which is what nobody timed, a dash. */
function amount(value) {
  if (value === null) return "–";
  return ofBytes ? bytes(value) : time(value);
}

function time(ns) {
  const [name, size] = UNITS.find(([, size]) => ns >= 0.9995 * size) ?? UNITS[3];
  const value = ns / size;
  const digits = size === 1 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return `${fixed[digits].format(value)} ${name}`;
}

/** As the text reports have it. */
function utc(millis) {
  const date = new Date(millis);
  return Number.isNaN(date.getTime()) ? "" : `${date.toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** In powers of 1024. */
function bytes(size) {
  if (size < 1023.5) return `${grouped.format(Math.round(size))} ${Math.round(size) === 1 ? "byte" : "bytes"}`;
  const [name, unit] = size < 1048576 ? ["KB", 1024] : size < 1073741824 ? ["MB", 1048576] : ["GB", 1073741824];
  return `${fixed[1].format(size / unit)} ${name}`;
}

const percent = (part) => (part === null ? "–" : `${(data.whole ? (100 * part) / data.whole : 0).toFixed(1)} %`);
const weight = (value) => (counts ? callsText(value) : amount(value));
/** With a mark (at most, at least) and that of estimates. */
const marked = (mark, estimated, ns) => (ns === null ? "" : mark + (estimated ? "~" : "")) + amount(ns);
// A method makes nothing itself, its callees do, which are types: that it is none is certain.
const isGuess = (estimated, self) => estimated && !(ofBytes && !self);
const lower = methods.name.map((name) => name.toLowerCase());

/** An element with a class, text and children. */
function element(tag, options = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(options)) {
    if (key === "text") made.textContent = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

/** A method's name, its package faint, what was searched marked. */
function nameOf(method) {
  const name = methods.name[method];
  const label = element("span", { title: `${name}${name.includes("(") ? "" : methods.descriptor[method]}` });
  const cut = Math.max(0, methods.class[method].lastIndexOf(".") + 1);
  const parts = [["package", name.slice(0, cut)], ["", name.slice(cut)]];
  const at = sought ? lower[method].indexOf(sought) : -1;
  let offset = 0;
  for (const [kind, text] of parts) {
    const span = element("span", { class: kind });
    const [from, to] = [at - offset, at - offset + sought.length].map((i) => Math.min(Math.max(i, 0), text.length));
    if (at >= 0 && from < to) span.append(text.slice(0, from), element("mark", { text: text.slice(from, to) }), text.slice(to));
    else span.textContent = text;
    label.append(span);
    offset += text.length;
  }
  return label;
}

function share(part) {
  const cell = element("td", { class: "share", text: percent(part) });
  cell.style.setProperty("--part", `${data.whole ? Math.min(100, (100 * part) / data.whole) : 0}%`);
  return cell;
}

// ---- The tree shown: one thread's, or all laid over each other ----

let tree;

function build(threads) {
  const made = { parent: [], method: [], calls: [], timed: [], timedTotal: [], self: [], total: [], below: [], estimated: [] };
  const sums = ["calls", "self", "total", "below"];
  const paths = new Map();
  for (const thread of threads) {
    const places = [];
    for (let at = 0; at < thread.method.length; at++) {
      const parent = thread.parent[at] < 0 ? -1 : places[thread.parent[at]];
      const key = (parent + 1) * methods.name.length + thread.method[at];
      let place = paths.get(key);
      if (place === undefined) {
        place = made.method.length;
        paths.set(key, place);
        made.parent.push(parent);
        made.method.push(thread.method[at]);
        made.estimated.push(0);
        made.timed.push(0);
        made.timedTotal.push(0);
        for (const column of sums) made[column].push(null);
      }
      for (const column of sums) {
        const part = thread[column][at];
        if (part !== null) made[column][place] += part;
      }
      const whole = thread.self[at] === null ? [0, 0] : [thread.calls[at], thread.total[at]];
      const [timed, total] = thread.parts[at] ?? whole;
      made.timed[place] += timed;
      made.timedTotal[place] += total;
      made.estimated[place] |= thread.estimated[at];
      places.push(place);
    }
  }
  // Children by node, the heaviest first; those of the program at -1.
  made.children = new Map();
  made.parent.forEach((parent, at) => {
    if (!made.children.has(parent)) made.children.set(parent, []);
    made.children.get(parent).push(at);
  });
  for (const list of made.children.values()) list.sort((a, b) => made.below[b] - made.below[a]);
  // Times of some calls are unknown: what is shown is the least.
  made.least = (node) => (!counts && made.timed[node] < made.calls[node] ? "≥" : "");
  made.calleesOf = (node) => made.children.get(node) ?? [];
  made.whole = made.calleesOf(-1).reduce((sum, root) => sum + made.below[root], 0);
  return made;
}

// ---- Flame graph ----

const ROW = 20;
const canvas = $("canvas");
const context = canvas.getContext("2d");
const dark = matchMedia("(prefers-color-scheme: dark)");
let zoomed = -1;
let boxes = []; // what is drawn: { node, x, y, width }
let hovered = -1;

const colours = new Map();
/** One hue a package, so that code of one kind looks alike. */
function colour(method) {
  const name = methods.class[method];
  const key = name.slice(0, Math.max(0, name.lastIndexOf(".")));
  if (!colours.has(key)) {
    let hash = 2166136261;
    for (const letter of key) hash = Math.imul(hash ^ letter.codePointAt(0), 16777619);
    // Similar names must differ as much as others: mix all bits.
    hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35) >>> 0;
    // From red over yellow and green to blue.
    colours.set(key, { hue: hash % 240, depth: (hash >>> 9) % 10 });
  }
  const { hue, depth } = colours.get(key);
  return dark.matches ? `hsl(${hue} ${34 + depth}% ${28 + depth}%)` : `hsl(${hue} ${55 + 2 * depth}% ${74 + depth}%)`;
}

function layout(width) {
  boxes = [];
  const path = [];
  for (let node = zoomed; node !== -1; node = tree.parent[node]) path.unshift(node);
  // The way to the zoomed node takes the whole width.
  path.forEach((node, level) => boxes.push({ node, x: 0, y: level * ROW, width }));
  const whole = zoomed === -1 ? tree.whole : tree.below[zoomed];
  if (!whole) return path.length;
  let deepest = path.length;
  const todo = [[zoomed, 0, path.length]];
  while (todo.length) {
    const [parent, start, level] = todo.pop();
    let x = start;
    for (const node of tree.calleesOf(parent)) {
      const wide = (tree.below[node] / whole) * width;
      if (wide < 0.4) break; // sorted: the rest is narrower
      boxes.push({ node, x, y: level * ROW, width: wide });
      deepest = Math.max(deepest, level + 1);
      todo.push([node, x, level + 1]);
      x += wide;
    }
  }
  return deepest;
}

function fit(text, width) {
  if (context.measureText(text).width <= width) return text;
  const letters = Math.floor(width / context.measureText("n").width) - 1;
  return letters > 2 ? text.slice(0, letters) + "…" : "";
}

/** Class and method without package: what is worth the room in a frame. */
function short(method) {
  const cut = methods.class[method].lastIndexOf(".") + 1;
  return methods.name[method].slice(cut);
}

function draw() {
  if ($("flame").hidden) return;
  const width = $("stage").clientWidth;
  const levels = layout(width);
  const height = Math.max(levels * ROW, ROW);
  const scale = devicePixelRatio || 1;
  canvas.width = width * scale;
  canvas.height = Math.min(height * scale, 32000);
  canvas.style.height = `${height}px`;
  context.scale(scale, canvas.height / height);
  context.font = "12px system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif";
  context.textBaseline = "middle";
  const style = getComputedStyle(document.documentElement);
  const [ink, faint] = ["--ink", "--line"].map((name) => style.getPropertyValue(name));
  for (const box of boxes) {
    const method = tree.method[box.node];
    const found = sought && lower[method].includes(sought);
    context.fillStyle = found ? "#ffd84d" : sought ? faint : colour(method);
    context.fillRect(box.x, box.y, Math.max(box.width - 0.6, 0.4), ROW - 1);
    if (box.width > 34) {
      context.fillStyle = found ? "#1c1f24" : ink;
      const text = fit(box.width > 420 ? methods.name[method] : short(method), box.width - 8);
      context.fillText(text, box.x + 4, box.y + ROW / 2);
    }
  }
  const box = boxes.find((box) => box.node === hovered);
  if (box) {
    context.strokeStyle = ink;
    context.lineWidth = 1.5;
    context.strokeRect(box.x + 0.75, box.y + 0.75, Math.max(box.width - 2, 1), ROW - 2.5);
  }
  $("reset").disabled = zoomed === -1;
}

function boxAt(event) {
  const area = canvas.getBoundingClientRect();
  const [x, y] = [event.clientX - area.left, event.clientY - area.top];
  return boxes.find((box) => x >= box.x && x < box.x + box.width && y >= box.y && y < box.y + ROW) ?? null;
}

function zoom(node) {
  zoomed = node;
  hovered = -1;
  hideTip();
  const names = [];
  for (let at = node; at !== -1; at = tree.parent[at]) names.unshift(short(tree.method[at]));
  const advice = tree.whole ? "Click a frame to zoom; ctrl-click to see its method." : "None of these calls was timed.";
  $("path").textContent = names.join(" › ") || advice;
  draw();
}

function describe(node) {
  const method = tree.method[node];
  const lines = [methods.name[method]];
  if (!counts) {
    const [total, self, estimated] = [tree.total[node], tree.self[node], tree.estimated[node]];
    const shown = (ns, guess) => `${marked(tree.least(node), guess, ns)} (${percent(ns)})`;
    lines.push(`total ${shown(total, estimated)}`);
    lines.push(`self ${shown(self, isGuess(estimated, self))}`);
    const timed = tree.timed[node];
    lines.push(`${callsText(tree.calls[node])}, mean ${amount(timed ? tree.timedTotal[node] / timed : null)}`);
  } else {
    lines.push(`${callsText(tree.calls[node])}, ${weight(tree.below[node])} at and below`);
  }
  return lines.join("\n");
}

function showTip(event, text) {
  const tip = $("tip");
  tip.textContent = text;
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 4))}px`;
  const below = event.clientY + 18;
  tip.style.top = `${below + height > innerHeight ? Math.max(4, event.clientY - height - 8) : below}px`;
}

const hideTip = () => { $("tip").hidden = true; };

canvas.addEventListener("mousemove", (event) => {
  const box = boxAt(event);
  const node = box ? box.node : -1;
  if (node !== hovered) {
    hovered = node;
    draw();
  }
  canvas.style.cursor = box ? "pointer" : "default";
  box ? showTip(event, describe(box.node)) : hideTip();
});
canvas.addEventListener("mouseleave", () => { hovered = -1; hideTip(); draw(); });
canvas.addEventListener("click", (event) => {
  const box = boxAt(event);
  if (!box) return;
  if (event.ctrlKey || event.metaKey) details(tree.method[box.node]);
  else {
    zoom(box.node === zoomed ? tree.parent[box.node] : box.node);
    if (!$("details").hidden) details(tree.method[box.node]);
  }
});
// Arrows walk through the tree: up to the caller, down to the heaviest callee,
// sideways to its siblings.
canvas.addEventListener("keydown", (event) => {
  const siblings = zoomed === -1 ? [] : tree.calleesOf(tree.parent[zoomed]);
  const at = siblings.indexOf(zoomed);
  const next = {
    ArrowUp: zoomed === -1 ? undefined : tree.parent[zoomed],
    ArrowDown: tree.calleesOf(zoomed)[0],
    ArrowLeft: siblings[at - 1],
    ArrowRight: at < 0 ? undefined : siblings[at + 1],
    Escape: -1,
  }[event.key];
  if (next !== undefined) { zoom(next); event.preventDefault(); }
  if (event.key === "Enter" && zoomed !== -1) details(tree.method[zoomed]);
});
$("reset").addEventListener("click", () => zoom(-1));

// ---- Method table ----

const STEP = 200;
const hasErrors = rows.error.some((error, at) => errorOf(at) > 5);
const TIMES = [
  { title: "self %", value: (at) => rows.self[at], cell: (at) => share(rows.self[at]) },
  { title: "self", value: (at) => rows.self[at], cell: (at) => marked(rows.selfMark[at], isGuess(rows.estimated[at], rows.self[at]), rows.self[at]) },
  ...(hasErrors ? [{ title: "±", minor: true, value: errorOf, cell: (at) => (errorOf(at) > 5 ? errorOf(at) > 999 ? ">999 %" : `${Math.round(errorOf(at))} %` : "") }] : []),
  { title: "total", value: (at) => rows.total[at], cell: (at) => marked(rows.totalMark[at], rows.estimated[at], rows.total[at]) },
];
// Minor columns give way on narrow screens.
const COLUMNS = [
  ...(counts ? [{ title: "calls %", value: (at) => rows.calls[at], cell: (at) => share(rows.calls[at]) }] : TIMES),
  { title: COUNTED, value: (at) => rows.calls[at], cell: (at) => grouped.format(rows.calls[at]) },
  ...(counts ? [] : [{ title: "mean", minor: true, value: (at) => rows.mean[at], cell: (at) => marked(rows.meanMark[at], 0, rows.mean[at]) }]),
  { title: "method", value: (at) => methods.name[rows.method[at]], cell: (at) => nameOf(rows.method[at]) },
];
let order = null; // { column, down }; null is the order written
let shownRows = STEP;

function errorOf(at) {
  return isGuess(rows.estimated[at], rows.self[at]) ? (100 * rows.error[at]) / Math.max(rows.self[at], 1) : 0;
}

function methodTable() {
  $("columns").replaceChildren(element("tr", {}, ...COLUMNS.map((column) => {
    const head = element("th", { scope: "col", class: column.minor ? "minor" : "" });
    const sorted = order?.column === column;
    if (sorted) head.setAttribute("aria-sort", order.down ? "descending" : "ascending");
    const arrow = sorted ? (order.down ? " ↓" : " ↑") : "";
    head.append(element("button", { text: column.title + arrow, onclick: () => sortBy(column) }));
    return head;
  })));
  let chosen = rows.method.map((_, at) => at).filter((at) => !sought || lower[rows.method[at]].includes(sought));
  if (order) {
    const { value } = order.column;
    const sign = order.down ? -1 : 1;
    chosen.sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      return sign * (x < y ? -1 : x > y ? 1 : 0);
    });
  }
  $("rows").replaceChildren(...chosen.slice(0, shownRows).map((at) => {
    const row = element("tr", { tabindex: 0, onclick: () => details(rows.method[at]) });
    row.addEventListener("keydown", (event) => { if (event.key === "Enter") details(rows.method[at]); });
    for (const column of COLUMNS) {
      const cell = column.cell(at);
      row.append(cell instanceof HTMLTableCellElement ? cell : element("td", { class: column.minor ? "minor" : "" }, cell));
    }
    return row;
  }));
  const left = chosen.length - shownRows;
  $("more").hidden = left <= 0;
  $("more").textContent = `Show ${grouped.format(Math.min(left, 5 * STEP))} more of ${grouped.format(Math.max(left, 0))}`;
}

function sortBy(column) {
  const down = column.title !== "method";
  order = { column, down: order?.column === column ? !order.down : down };
  methodTable();
}

$("more").addEventListener("click", () => { shownRows += 5 * STEP; methodTable(); });

// ---- Call tree ----

function treeHead() {
  const titles = counts ? ["calls %", "calls", "method"] : ["total %", "total", "self", COUNTED, "method"];
  $("tree-columns").replaceChildren(element("tr", {}, ...titles.map((title) =>
    element("th", { scope: "col" }, element("span", { text: title })))));
}

function treeRow(node, level) {
  const callees = tree.calleesOf(node);
  const row = element("tr", { "aria-level": level + 1, tabindex: 0 });
  const [least, estimated] = [tree.least(node), tree.estimated[node]];
  if (counts) row.append(share(tree.below[node]));
  else row.append(
    share(tree.total[node]),
    element("td", { text: marked(least, estimated, tree.total[node]) }),
    element("td", { text: marked(least, isGuess(estimated, tree.self[node]), tree.self[node]) }),
  );
  row.append(element("td", { text: grouped.format(tree.calls[node]) }));
  const twisty = element("span", { class: "twisty", text: callees.length ? "▸" : "" });
  const name = element("td", {}, twisty, nameOf(tree.method[node]));
  name.style.paddingLeft = `${10 + 14 * level}px`;
  row.append(name);
  row.node = node;
  row.level = level;
  if (callees.length) row.setAttribute("aria-expanded", "false");
  return row;
}

const LIST = 100;

/** Rows of the callees from `first` on; the last row fetches the rest. */
function calleeRows(node, level, first) {
  const callees = tree.calleesOf(node);
  const made = callees.slice(first, first + LIST).map((callee) => treeRow(callee, level));
  const left = callees.length - first - LIST;
  if (left > 0) {
    const row = element("tr", { tabindex: 0 });
    const cell = element("td", { colspan: counts ? 3 : 5, text: `… ${grouped.format(left)} more` });
    cell.style.textAlign = "left";
    row.append(cell);
    row.level = level;
    row.rest = () => row.replaceWith(...calleeRows(node, level, first + LIST));
    made.push(row);
  }
  return made;
}

function unfold(row) {
  if (row.getAttribute("aria-expanded") !== "false") return;
  row.setAttribute("aria-expanded", "true");
  row.querySelector(".twisty").textContent = "▾";
  const made = calleeRows(row.node, row.level + 1, 0);
  row.after(...made);
  // A caller with one heavy callee is a step on the way: go on.
  const heavy = made[0];
  if (heavy.node !== undefined && tree.below[heavy.node] > 0.9 * tree.below[row.node] && row.level < 200) unfold(heavy);
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
  if (roots.length) unfold(roots[0]);
}

const treeBody = $("tree-rows");
treeBody.addEventListener("click", (event) => {
  const row = event.target.closest("tr");
  if (!row) return;
  if (row.rest) return row.rest();
  treeBody.querySelector(".chosen")?.classList.remove("chosen");
  row.classList.add("chosen");
  row.getAttribute("aria-expanded") === "true" ? fold(row) : unfold(row);
  details(tree.method[row.node]);
});
treeBody.addEventListener("keydown", (event) => {
  const row = event.target.closest("tr");
  if (row.rest) { if (event.key === "Enter") row.rest(); return; }
  if (event.key === "ArrowRight") unfold(row);
  else if (event.key === "ArrowLeft") fold(row);
  else if (event.key === "ArrowDown") row.nextElementSibling?.focus();
  else if (event.key === "ArrowUp") row.previousElementSibling?.focus();
  else if (event.key === "Enter") details(tree.method[row.node]);
  else return;
  event.preventDefault();
});

// ---- Callers and callees of a method, in all threads as in the method table ----

/** Edges by the method at one end. */
function edgesBy(end) {
  const by = new Map();
  end.forEach((method, at) => {
    if (!by.has(method)) by.set(method, []);
    by.get(method).push(at);
  });
  return by;
}

const callersOf = edgesBy(edges.callee);
const calleesOf = edgesBy(edges.caller);
const edgeTotal = counts ? edges.calls : edges.total;

function details(method) {
  const at = rows.method.indexOf(method);
  $("details").hidden = false;
  $("details-name").replaceChildren(nameOf(method));
  const facts = data.threads.length > 1 ? ["all threads"] : [];
  if (methods.file[method]) facts.push(methods.file[method] + (methods.line[method] ? `:${methods.line[method]}` : ""));
  if (at >= 0) {
    facts.push(callsText(rows.calls[at]));
    if (!counts) {
      const estimated = rows.estimated[at];
      facts.push(`self ${marked(rows.selfMark[at], isGuess(estimated, rows.self[at]), rows.self[at])} (${percent(rows.self[at])})`);
      facts.push(`total ${marked(rows.totalMark[at], estimated, rows.total[at])} (${percent(rows.total[at])})`);
    }
  }
  if (methods.loader[method]) facts.push(`loader ${methods.loader[method]}`);
  $("details-facts").textContent = facts.join(" · ");
  for (const [id, by, others] of [["callers", callersOf, edges.caller], ["callees", calleesOf, edges.callee]]) {
    const sorted = [...(by.get(method) ?? [])].sort((a, b) => edgeTotal[b] - edgeTotal[a]);
    const made = sorted.map((edge) => {
      const other = others[edge];
      const row = element("tr", {}, share(edgeTotal[edge]));
      if (!counts) row.append(element("td", { text: marked(edges.mark[edge], 0, edges.total[edge]) }));
      row.append(element("td", { text: `${grouped.format(edges.calls[edge])} ×` }));
      row.append(element("td", {}, other === -1 ? "(thread start)" : nameOf(other)));
      if (other !== -1) row.addEventListener("click", () => details(other));
      return row;
    });
    $(id).replaceChildren(...(made.length ? made : [element("tr", {}, element("td", { text: "none" }))]));
  }
  draw();
}

$("close").addEventListener("click", () => { $("details").hidden = true; draw(); });

// ---- Search, threads, views ----

let sought = "";

function search(text) {
  sought = text.trim().toLowerCase();
  shownRows = STEP;
  const found = sought ? rows.method.filter((method) => lower[method].includes(sought)) : [];
  $("found").textContent = sought ? `${grouped.format(found.length)} found` : "";
  if (sought && !counts && found.length) {
    // What runs in them, counted once where they call each other.
    let sum = 0;
    const inside = [];
    tree.method.forEach((method, node) => {
      const parent = tree.parent[node];
      const hit = lower[method].includes(sought);
      if (hit && !(parent !== -1 && inside[parent])) sum += tree.below[node];
      inside[node] = hit || (parent !== -1 && inside[parent]);
    });
    $("found").textContent += `, ${percent(sum)} of the ${ofBytes ? "bytes" : "time"}`;
  }
  refresh();
}

const views = ["flame", "methods", "tree"];
const refreshers = { flame: draw, methods: methodTable, tree: callTree };
let view = "flame";

function refresh() {
  refreshers[view]();
}

function show(name) {
  view = name;
  for (const other of views) {
    $(other).hidden = other !== name;
    $(`tab-${other}`).setAttribute("aria-selected", String(other === name));
    $(`tab-${other}`).tabIndex = other === name ? 0 : -1;
  }
  $("thread").disabled = name === "methods";
  hideTip();
  refresh();
}

for (const [at, name] of views.entries()) {
  $(`tab-${name}`).addEventListener("click", () => show(name));
  $(`tab-${name}`).addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: 2 }[event.key];
    if (!step) return;
    const next = views[(at + step) % 3];
    show(next);
    $(`tab-${next}`).focus();
  });
}

let typing;
$("search").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => search($("search").value), 120);
});

function chooseThread(at) {
  tree = build(at < 0 ? data.threads : [data.threads[at]]);
  zoom(-1);
  search($("search").value);
}

// ---- Start ----

const FEW_NOTES = 10;

function start() {
  const { header } = data;
  const command = header.command || "Java program";
  document.title = `${command.slice(0, 80)} – Loadhook`;
  $("command").textContent = command;
  const measured = ofBytes ? (data.measure === "live" ? "allocations that are alive" : "allocations") : counts ? "calls counted, not timed" : `${header.clock} clock, ${header.timing} timing`;
  // Of objects, those of a method are its callers' too.
  const counted = ofBytes ? data.threads.flatMap((thread) => thread.calls.filter((_, at) => thread.parent[at] < 0)) : rows.calls;
  const calls = counted.reduce((sum, one) => sum + one, 0);
  const facts = [
    time(header.duration_ns),
    measured,
    (ofBytes && rows.estimated.some(Boolean) ? "~" : "") + callsText(calls),
    data.threadsText,
    !ofBytes && !counts && data.threads.length > 1 && data.whole > header.duration_ns && "times are summed over them",
    header.tracker_bytes && `tracker ${bytes(header.tracker_bytes)}`,
    header.jvm,
  ];
  if (header.start_epoch_millis) facts.unshift(utc(header.start_epoch_millis));
  $("facts").textContent = facts.filter(Boolean).join(" · ");
  const remarks = [];
  if (!rows.method.length) remarks.push(ofBytes ? "Nothing was allocated" : "No instrumented method was called");
  if (rows.estimated.some(Boolean)) remarks.push(ofBytes ? "~ estimated from a random sample of the allocations" : "~ estimated from a random sample of the calls; counts are exact");
  if (rows.totalMark.includes("≤")) remarks.push("≤ upper bound: recursive calls may be counted twice");
  remarks.push(...data.unsized);
  if (!ofBytes && rows.selfMark.some((mark, at) => mark && rows.total[at] !== null)) remarks.push("≥ lower bound: some calls have no known time; means are of the others");
  if (header.overflowed_calls) remarks.push(`${grouped.format(header.overflowed_calls)} calls are counted as (tree full): too many nodes (raise --max-nodes), too little heap (raise -Xmx), or calls a million deep`);
  if (data.leftOut) remarks.push(`${grouped.format(data.leftOut)} of the lightest tree nodes omitted from this page`);
  const alone = Object.entries(header.left_alone).map(([reason, count]) => `${grouped.format(count)} ${reason}`);
  if (alone.length) remarks.push(`Methods not instrumented: ${alone.join(", ")}`);
  for (const pattern of header.unmatched) remarks.push(`No ${pattern.includes("::") ? "method" : "class"} matched ${pattern}`);
  // A few are read at once; more are for who asks.
  const { notes } = header;
  const folded = notes.length > FEW_NOTES;
  const list = (id, texts) => $(id).replaceChildren(...texts.map((text) => element("li", { text })));
  list("remarks", folded ? remarks : remarks.concat(notes));
  list("notes-list", folded ? notes : []);
  $("notes").hidden = !folded;
  $("notes-title").textContent = `${grouped.format(notes.length)} notes`;
  $("notes").addEventListener("toggle", draw);
  const names = [...data.threads.keys()].sort((a, b) => (data.threads[a].name < data.threads[b].name ? -1 : 1));
  $("thread").replaceChildren(
    element("option", { value: -1, text: "All threads" }),
    ...names.map((at) => element("option", { value: at, text: data.threads[at].name || "(no name)" })),
  );
  $("thread").hidden = data.threads.length < 2;
  $("thread").addEventListener("change", () => chooseThread(Number($("thread").value)));
  const words = { time: "Time", allocated: "Allocated bytes", live: "Live bytes" };
  $("measure").replaceChildren(...measures.map(({ measure }) => element("option", { value: measure, text: words[measure] })));
  $("measure").value = data.measure;
  $("measure").hidden = measures.length < 2;
  $("measure").addEventListener("change", () => {
    location.hash = `${$("measure").value}/${view}`;
    location.reload();
  });
  addEventListener("resize", draw);
  dark.addEventListener("change", draw);
  chooseThread(-1);
  // As it can name the view: report.html#methods.
  const named = wanted.find((word) => views.includes(word));
  if (named) show(named);
  document.documentElement.dataset.ready = "true";
}

start();
