"use strict";
// Data comes in columns; see page.rs. Objects are those that keep most, each
// behind the one that keeps it.
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);

// ---- Numbers and names ----

const grouped = new Intl.NumberFormat("en-US");
const fixed = new Intl.NumberFormat("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1 });

/** In powers of 1024, with three digits, as the terminal shows them. */
function bytes(size) {
  let rest = size;
  for (const unit of ["bytes", "KB", "MB", "GB"]) {
    if (rest < 1023.5 || unit === "GB") {
      const text = unit !== "bytes" && rest < 99.95 ? fixed.format(rest) : grouped.format(Math.round(rest));
      return `${text} ${size === 1 ? "byte" : unit}`;
    }
    rest /= 1024;
  }
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

/** A size; what it is exactly shows when the pointer rests on it. */
const sized = (value) => element("td", { text: bytes(value), title: `${grouped.format(value)} bytes` });

/** A part of all bytes. */
function share(part) {
  const percent = data.bytes ? (100 * part) / data.bytes : 0;
  const cell = element("td", { class: "share", text: `${percent.toFixed(1)} %` });
  cell.style.setProperty("--part", `${Math.min(100, percent)}%`);
  return cell;
}

let view = "classes";
let sought = "";
const has = (text) => !sought || text.toLowerCase().includes(sought);

/** A text in which what was searched is marked. */
function marked(text) {
  const label = element("bdi", { dir: "ltr" });
  const at = sought ? text.toLowerCase().indexOf(sought) : -1;
  if (at < 0) label.textContent = text;
  else label.append(text.slice(0, at), element("mark", { text: text.slice(at, at + sought.length) }), text.slice(at + sought.length));
  return label;
}

/** A name in a cell, shortened at its front where there is no room, which leads to its details. */
const named = (text, place) => element("a", { class: "front", href: `#${view}/${place}`, title: text }, marked(text));

// ---- Tables ----

const STEP = 200;

/** A table that sorts by its columns' titles, and shows what was searched. */
function table(name, count, columns, textOf) {
  $(`${name}-rows`).parentElement.style.setProperty("--columns", columns.length - 1);
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
const column = (title, values, cell) => ({ title, value: (at) => values[at], cell: (at) => (cell ?? number)(values[at], at) });
/** A text of several lines where it does not fit, once it is clicked. */
const unfolding = (text) => element("td", { class: "text", title: text, onclick: (event) => event.currentTarget.classList.toggle("open") }, marked(text));
const classTable = table("class", classes.name.length, [
  column("bytes %", classes.bytes, share),
  column("bytes", classes.bytes, sized),
  column("instances", classes.instances),
  column("retained", classes.retained, sized),
  column("class", classes.name, (name, at) => element("td", {}, named(name, `class-${at}`))),
], (at) => classes.name[at]);
const duplicateTable = table("duplicate", duplicates.wasted.length, [
  column("wasted %", duplicates.wasted, share),
  column("wasted", duplicates.wasted, sized),
  column("count", duplicates.count),
  column("bytes", duplicates.bytes, sized),
  column("value", duplicates.value, unfolding),
], (at) => duplicates.value[at]);

// Of each class before and after, where there is a later dump.
const changes = data.changes ?? { name: [], instances: [], bytes: [] };
const differences = (pairs) => pairs.map(([before, after]) => after - before);
const after = (pairs) => pairs.map((pair) => pair[1]);
const signed = (value, text) => element("td", { text: `${value > 0 ? "+" : value < 0 ? "−" : ""}${text(Math.abs(value))}` });
const changeTable = table("change", changes.name.length, [
  column("± bytes", differences(changes.bytes), (value) => signed(value, bytes)),
  column("bytes", after(changes.bytes), sized),
  column("± instances", differences(changes.instances), (value) => signed(value, grouped.format)),
  column("instances", after(changes.instances)),
  column("class", changes.name, unfolding),
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
    // A name leads to its details.
    if (row && !event.target.closest("a")) act(row);
  });
  body.addEventListener("keydown", (event) => {
    const row = event.target.closest("tr");
    if (event.key === "ArrowRight") unfold(row);
    else if (event.key === "ArrowLeft") fold(row);
    else if (event.key === "ArrowDown") row.nextElementSibling?.focus();
    else if (event.key === "ArrowUp") row.previousElementSibling?.focus();
    else if (event.key === "Enter" && event.target === row) act(row);
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
  if (at === -1) return sought ? objects.above.map((_, at) => at).filter((at) => has(objectName(at))) : kept.get(-1);
  const below = kept.get(at) ?? [];
  const rest = objects.retained[at] - objects.bytes[at] - below.reduce((sum, one) => sum + objects.retained[one], 0);
  return rest > 0 ? [...below, `smaller objects: ${bytes(rest)}`] : below;
}

const objectTree = tree($("object-rows"), 4, keptBy, (at) => [
  share(objects.retained[at]),
  sized(objects.retained[at]),
  sized(objects.bytes[at]),
  element("td", {}, named(objectName(at), objects.id[at])),
]);

// Threads, their frames and variables are nodes alike: { name, below }.
const threadTree = tree($("thread-rows"), 1, (node) => (node === -1 ? data.threads.filter((thread) => has(thread.name)) : node.below), (node) => [
  element("td", {}, marked(node.name)),
]);

// ---- Suspects ----

const links = (at) => element("a", { href: `#${view}/${objects.id[at]}`, text: objectName(at) });
const part = (size) => `${bytes(size)} (${fixed.format(data.bytes ? (100 * size) / data.bytes : 0)} %)`;
const counted = (count, one, more) => `${grouped.format(count)} ${count === 1 ? one : more}`;
const className = (at) => objects.names[objects.name[at]];

/** A sentence, and where the bytes are. */
function suspect({ objects: all, count, retained, down, below }) {
  const made = element("article", {});
  const says = element("p", {});
  made.append(says);
  if (count > 1) {
    says.append(`${grouped.format(count)} objects of ${className(all[0])} together retain ${part(retained)}; each of them alone less than ${data.suspects.threshold} %.`);
    if (down.length) says.append(" Nearly all ways to them go through ", links(down.at(-1)), ".");
    made.append(element("h3", { text: "The largest of them" }), element("ul", {}, ...all.map((at) => element("li", {}, links(at), ` · retains ${bytes(objects.retained[at])}`))));
    return made;
  }
  const [first, point] = [down[0], down.at(-1)];
  says.append(links(first), ` retains ${part(retained)}.`);
  if (point !== first) says.append(" Nearly all of it comes together in ", links(point), `, which retains ${bytes(objects.retained[point])}.`);
  const own = objects.bytes[point];
  if (2 * own > objects.retained[point]) says.append(` Most of that is ${point === first ? "the object" : "this object"} itself: ${bytes(own)}.`);
  else if (below.length) says.append(` There it fans out: ${counted(below[0][1], "object", "objects")} of ${className(below[0][0])} below it ${below[0][1] === 1 ? "retains" : "retain"} ${bytes(below[0][2])}.`);
  if (down.length > 2) made.append(element("h3", { text: "From the first to the accumulation point" }), element("ul", {}, ...down.map((at) => element("li", {}, links(at), ` · retains ${bytes(objects.retained[at])}`))));
  if (below.length) {
    made.append(element("h3", { text: "Right below the accumulation point" }), element("ul", {}, ...below.map(([at, count, retained]) =>
      element("li", {}, `${counted(count, "object", "objects")} of ${className(at)} · ${count === 1 ? "retains" : "retain"} ${bytes(retained)} · ${count === 1 ? "" : "the largest "}`, links(at)))));
  }
  return made;
}

function showSuspects() {
  const { threshold, rows } = data.suspects;
  $("suspect-rows").replaceChildren(...rows.map(suspect));
  $("suspect-sum").textContent = rows.length
    ? `Single objects, and classes together, that retain ${threshold} % of all bytes or more. From each the way goes down the dominator tree while one object keeps nearly all (80 %): the last of these is its accumulation point.`
    : `No object, and no class together, retains ${threshold} % of all bytes.`;
}

// ---- Details ----

const byId = new Map(objects.id.map((id, at) => [id, at]));
const heading = (text) => element("h3", { text });

/** `"text"` of a string, `{1, 2}` of an array. */
function contents(at) {
  const known = objects.texts[at];
  if (!known) return "";
  return className(at).endsWith("[]") && className(at) !== "char[]" ? ` {${known[0]}}` : ` "${known[0]}"`;
}

function classDetails(at) {
  const largest = classes.largest[at];
  const left = classes.instances[at] - largest.length;
  const rows = largest.map((one) => element("tr", {}, sized(Math.max(0, objects.retained[one])), sized(objects.bytes[one]), element("td", {}, links(one), contents(one))));
  const titles = ["retained", "bytes", "object"].map((text) => element("th", { scope: "col" }, element("span", { text })));
  return [
    element("h2", { text: classes.name[at] }),
    element("p", { class: "quiet", text: `${counted(classes.instances[at], "instance", "instances")} · ${bytes(classes.bytes[at])} · retaining ${part(classes.retained[at])}` }),
    heading("Instances that retain most"),
    element("table", { class: "numbers" }, element("thead", {}, element("tr", {}, ...titles)), element("tbody", {}, ...rows)),
    ...(left > 0 ? [element("p", { class: "quiet", text: `${counted(left, "instance retains", "instances retain")} less and ${left === 1 ? "is" : "are"} not on this page.` })] : []),
  ];
}

function fieldRow([name, type, value]) {
  const cell = element("td", {});
  if (value === null) cell.textContent = "null";
  else if (typeof value === "string") cell.textContent = value;
  else cell.append(links(value), contents(value));
  const of = objects.names[type] || (typeof value === "number" ? className(value) : "reference");
  return element("tr", {}, element("td", { text: objects.names[name] }), element("td", { class: "type", text: of }), cell);
}

function objectDetails(at) {
  const retained = objects.retained[at];
  const ofClass = classes.name.indexOf(className(at));
  const facts = element("p", { class: "quiet" }, `${bytes(objects.bytes[at])}, ${retained < 0 ? "kept by no root" : `retains ${part(retained)}`}`);
  if (ofClass >= 0) facts.append(" · ", element("a", { href: `#${view}/class-${ofClass}`, text: "all instances of its class" }));
  const all = [element("h2", { text: objectName(at) }), facts];
  if (contents(at)) all.push(element("p", { class: "contents", text: `${contents(at).trim()} · length ${grouped.format(objects.texts[at][1])}` }));
  const details = objects.details[at];
  if (!details) {
    all.push(element("p", { class: "quiet", text: `The fields of this object are not on this page. Its way to a root: loadhook heap ${data.file} --path ${objects.id[at]}` }));
    return all;
  }
  if (details.fields.length) {
    const titles = ["name", "type", "value"].map((text) => element("th", { scope: "col", text }));
    all.push(heading(className(at).endsWith("[]") ? "Elements" : className(at).startsWith("class ") ? "Static fields" : "Fields"));
    all.push(element("table", { class: "fields" }, element("thead", {}, element("tr", {}, ...titles)), element("tbody", {}, ...details.fields.map(fieldRow))));
    if (details.more) all.push(element("p", { class: "quiet", text: `${grouped.format(details.more)} more are not on this page.` }));
  }
  const step = ([from, by]) => element("li", {}, `${objects.names[by]} of `, links(from));
  const left = details.by_count - details.by.length;
  all.push(heading(`Referred to by ${counted(details.by_count, "object", "objects")}`));
  all.push(element("ul", {}, ...details.by.map(step), ...(left > 0 ? [element("li", { class: "quiet", text: `${grouped.format(left)} more are not on this page` })] : [])));
  all.push(heading("Way to the root"));
  const root = details.root === null ? "none: no root keeps it" : `root: ${objects.names[details.root].replace(/^root: /, "")}`;
  all.push(element("ol", {}, ...details.way.map(([from, by]) => element("li", {}, `↑ ${objects.names[by]} of `, links(from))), ...(details.is_cut ? [element("li", { class: "quiet", text: "… more objects" })] : []), element("li", { text: root })));
  return all;
}

/** Shows an object by its identifier, a class as `class-3`, or nothing. */
function showDetails(what) {
  const ofClass = /^class-(\d+)$/.exec(what);
  const shown = ofClass ? classes.name[ofClass[1]] !== undefined && classDetails(Number(ofClass[1]))
    : byId.has(what) && objectDetails(byId.get(what));
  $("details").hidden = !shown;
  $("details-content").replaceChildren(...(shown || []));
  $("details").scrollTop = 0;
}

/** A link names the view, and what is shown beside it: `#threads`, `#objects/0x7f00`. */
function route() {
  const [name, what = ""] = location.hash.slice(1).split("/");
  const wanted = views.includes(name) ? name : "classes";
  if (wanted !== view || !document.documentElement.dataset.ready) show(wanted);
  showDetails(what);
}

$("close").addEventListener("click", () => { location.hash = view; });

// ---- Search and views ----

const views = ["classes", "suspects", "objects", "duplicates", "threads", ...(data.changes ? ["changes"] : [])];
const refreshers = {
  classes: classTable.refresh,
  suspects: showSuspects,
  objects: objectTree.refresh,
  duplicates: duplicateTable.refresh,
  threads: threadTree.refresh,
  changes: changeTable.refresh,
};
function refresh() {
  refreshers[view]();
  const texts = { classes: classes.name, changes: changes.name, duplicates: duplicates.value, threads: data.threads.map((thread) => thread.name) }[view];
  const found = sought && view !== "suspects" ? (texts ? texts.filter(has).length : keptBy(-1).length) : 0;
  $("found").textContent = sought && view !== "suspects" ? `${grouped.format(found)} found` : "";
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
  $(`tab-${name}`).addEventListener("click", () => { location.hash = name; show(name); });
  $(`tab-${name}`).addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: views.length - 1 }[event.key];
    if (!step) return;
    const next = views[(at + step) % views.length];
    location.hash = next;
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
  route();
  addEventListener("hashchange", route);
  document.documentElement.dataset.ready = "true";
}

start();
