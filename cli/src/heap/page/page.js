"use strict";
// Data comes in columns; see page.rs. Objects are those that keep most, each
// behind the one that keeps it.
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);

// ---- Numbers and names ----

const grouped = new Intl.NumberFormat("en-US");
const fixed = new Intl.NumberFormat("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1 });

/** In powers of 1024. */
function bytes(size) {
  if (size < 1024) return `${grouped.format(size)} bytes`;
  const [name, unit] = size < 1048576 ? ["KB", 1024] : size < 1073741824 ? ["MB", 1048576] : ["GB", 1073741824];
  return `${fixed.format(size / unit)} ${name}`;
}

/** An element with attributes, text and children. */
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

const number = (value) => element("td", { text: grouped.format(value) });

/** A part of all bytes. */
function share(part) {
  const percent = data.bytes ? (100 * part) / data.bytes : 0;
  const cell = element("td", { class: "share", text: `${percent.toFixed(1)} %` });
  cell.style.setProperty("--part", `${Math.min(100, percent)}%`);
  return cell;
}

let sought = "";
const has = (text) => !sought || text.toLowerCase().includes(sought);

/** A text in which what was searched is marked. */
function marked(text) {
  const label = element("span", { title: text });
  const at = sought ? text.toLowerCase().indexOf(sought) : -1;
  if (at < 0) label.textContent = text;
  else label.append(text.slice(0, at), element("mark", { text: text.slice(at, at + sought.length) }), text.slice(at + sought.length));
  return label;
}

// ---- Tables ----

const STEP = 200;

/** A table that sorts by its columns' titles, and shows what was searched. */
function table(name, count, columns, textOf) {
  let order = null; // { column, down }; null is the order written
  let shown = STEP;
  const made = {
    refresh() {
      $(`${name}-columns`).replaceChildren(element("tr", {}, ...columns.map((column) => {
        const head = element("th", { scope: "col" });
        const sorted = order?.column === column;
        if (sorted) head.setAttribute("aria-sort", order.down ? "descending" : "ascending");
        const arrow = sorted ? (order.down ? " ↓" : " ↑") : "";
        head.append(element("button", { text: column.title + arrow, onclick: () => made.sortBy(column) }));
        return head;
      })));
      const chosen = [...Array(count).keys()].filter((at) => has(textOf(at)));
      if (order) {
        const { value } = order.column;
        const sign = order.down ? -1 : 1;
        chosen.sort((a, b) => {
          const [x, y] = [value(a), value(b)];
          return sign * (x < y ? -1 : x > y ? 1 : 0);
        });
      }
      $(`${name}-rows`).replaceChildren(...chosen.slice(0, shown).map((at) =>
        element("tr", {}, ...columns.map((column) => column.cell(at)))));
      const left = chosen.length - shown;
      $(`${name}-more`).hidden = left <= 0;
      $(`${name}-more`).textContent = `Show ${grouped.format(Math.min(left, 5 * STEP))} more of ${grouped.format(Math.max(left, 0))}`;
      return chosen.length;
    },
    sortBy(column) {
      const down = typeof column.value(0) === "number";
      order = { column, down: order?.column === column ? !order.down : down };
      made.refresh();
    },
    forget() { shown = STEP; },
  };
  $(`${name}-more`).addEventListener("click", () => { shown += 5 * STEP; made.refresh(); });
  return made;
}

const { classes, duplicates } = data;
const column = (title, values, cell) => ({ title, value: (at) => values[at], cell: (at) => (cell ?? number)(values[at]) });
const classTable = table("class", classes.name.length, [
  column("bytes %", classes.bytes, share),
  column("bytes", classes.bytes),
  column("instances", classes.instances),
  ...(classes.retained ? [column("retained", classes.retained)] : []),
  column("class", classes.name, (name) => element("td", {}, marked(name))),
], (at) => classes.name[at]);
const duplicateTable = table("duplicate", duplicates.wasted.length, [
  column("wasted %", duplicates.wasted, share),
  column("wasted", duplicates.wasted),
  column("count", duplicates.count),
  column("bytes", duplicates.bytes),
  column("value", duplicates.value, (value) => element("td", {}, marked(value))),
], (at) => duplicates.value[at]);

// Of each class before and after, where there is a later dump.
const changes = data.changes ?? { name: [], instances: [], bytes: [] };
const differences = (pairs) => pairs.map(([before, after]) => after - before);
const after = (pairs) => pairs.map((pair) => pair[1]);
const signed = (value) => element("td", { text: `${value > 0 ? "+" : value < 0 ? "−" : ""}${grouped.format(Math.abs(value))}` });
const changeTable = table("change", changes.name.length, [
  column("± bytes", differences(changes.bytes), signed),
  column("bytes", after(changes.bytes)),
  column("± instances", differences(changes.instances), signed),
  column("instances", after(changes.instances)),
  column("class", changes.name, (name) => element("td", {}, marked(name))),
], (at) => changes.name[at]);

// ---- Trees ----

const LIST = 100;

/**
 * A tree that opens row by row: `below(node)` are a node's own, -1 is above
 * all, and `cells(node)` its cells, the last of which names it.
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

  /** Rows of those below from `first` on; the last row fetches the rest. */
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
    if (row) act(row);
  });
  body.addEventListener("keydown", (event) => {
    const row = event.target.closest("tr");
    if (event.key === "ArrowRight") unfold(row);
    else if (event.key === "ArrowLeft") fold(row);
    else if (event.key === "ArrowDown") row.nextElementSibling?.focus();
    else if (event.key === "ArrowUp") row.previousElementSibling?.focus();
    else if (event.key === "Enter") act(row);
    else return;
    event.preventDefault();
  });
  return { refresh: () => body.replaceChildren(...rows(-1, 0, 0)) };
}

const { objects } = data;
// Those below each, the largest first, as they are written; -1 is above all.
const kept = new Map([[-1, []]]);
objects.above.forEach((above, at) => {
  if (!kept.has(above)) kept.set(above, []);
  kept.get(above).push(at);
});
const objectName = (at) => `${objects.names[objects.name[at]]} ${objects.id[at]}`;

/** What is below an object, and how much is in objects that the page has not. */
function keptBy(at) {
  if (at === -1) return sought ? objects.id.map((_, at) => at).filter((at) => has(objectName(at))) : kept.get(-1);
  const below = kept.get(at) ?? [];
  const rest = objects.retained[at] - objects.bytes[at] - below.reduce((sum, one) => sum + objects.retained[one], 0);
  return rest > 0 ? [...below, `smaller objects: ${bytes(rest)}`] : below;
}

const objectTree = tree($("object-rows"), 4, keptBy, (at) => [
  share(objects.retained[at]),
  number(objects.retained[at]),
  number(objects.bytes[at]),
  element("td", {}, marked(objectName(at))),
]);

// Threads, their frames and variables are nodes alike: { name, below }.
const threadTree = tree($("thread-rows"), 1, (node) => (node === -1 ? data.threads.filter((thread) => has(thread.name)) : node.below), (node) => [
  element("td", {}, marked(node.name)),
]);

// ---- Search and views ----

const views = ["classes", "objects", "duplicates", "threads", ...(data.changes ? ["changes"] : [])];
const refreshers = {
  classes: classTable.refresh,
  objects: objectTree.refresh,
  duplicates: duplicateTable.refresh,
  threads: threadTree.refresh,
  changes: changeTable.refresh,
};
let view = "classes";

function refresh() {
  refreshers[view]();
  const texts = { classes: classes.name, changes: changes.name, duplicates: duplicates.value, threads: data.threads.map((thread) => thread.name) }[view];
  const found = sought ? (texts ? texts.filter(has).length : keptBy(-1).length) : 0;
  $("found").textContent = sought ? `${grouped.format(found)} found` : "";
}

function search(text) {
  sought = text.trim().toLowerCase();
  classTable.forget();
  duplicateTable.forget();
  changeTable.forget();
  refresh();
}

function show(name) {
  view = name;
  for (const other of views) {
    $(other).hidden = other !== name;
    $(`tab-${other}`).setAttribute("aria-selected", String(other === name));
    $(`tab-${other}`).tabIndex = other === name ? 0 : -1;
  }
  refresh();
}

for (const [at, name] of views.entries()) {
  $(`tab-${name}`).addEventListener("click", () => show(name));
  $(`tab-${name}`).addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: views.length - 1 }[event.key];
    if (!step) return;
    const next = views[(at + step) % views.length];
    show(next);
    $(`tab-${next}`).focus();
  });
}

let typing;
$("search").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => search($("search").value), 120);
});

// ---- Start ----

function start() {
  document.title = `${data.file.slice(0, 80)} – Loadhook`;
  $("file").textContent = data.file;
  const facts = (dump) => `${grouped.format(dump.instances)} objects · ${bytes(dump.bytes)} · dumped ${dump.time}`;
  $("facts").textContent = `${facts(data)} · ids of ${data.id_size} bytes`;
  $("remarks").replaceChildren(...data.remarks.map((text) => element("li", { text })));
  $("sums").textContent = ["strings", "arrays"].map((kind) => {
    const { wasted, instances, values } = duplicates[kind];
    return `${bytes(wasted)} wasted by ${grouped.format(instances)} ${kind} of ${grouped.format(values)} values`;
  }).join(" · ");
  if (data.changes) {
    const { file, after, all, name, left_out } = data.changes;
    const missing = left_out ? ` ${grouped.format(left_out)} of them, that shrank most, are left out.` : "";
    $("later").textContent = `${grouped.format(name.length + left_out)} of ${grouped.format(all)} classes changed till ${file}: ${facts(after)}. + is more there; bytes and instances are those there.${missing}`;
  }
  $("tab-changes").hidden = !data.changes;
  // A link can name the view: heap.html#threads.
  const named = location.hash.slice(1);
  show(views.includes(named) ? named : "classes");
  document.documentElement.dataset.ready = "true";
}

start();
