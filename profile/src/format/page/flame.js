// ---- Flame graph: drawing, and the actions of mouse, touch and keyboard ----

const canvas = $("canvas");
const stage = $("stage");
const FONT = "12px system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif";

let tree; // the chosen threads, from callers to callees
let graph; // the tree that flame graph and call tree show: `tree`, or that of callers
let ofMethod = -1; // the method whose callers are shown; -1 for all methods
let zoomed = -1;
let chosen = -1;
let upright = false; // true if the outermost callers are at the foot
let boxes = []; // the boxes of each level
let height = 0;

const LABEL_LEAST = 26;

/** Returns the longest form of a name that fits; the shortest form is cut at its front. */
function fitted(context, method, width) {
  const forms = [fullName(method), shortName(method), bareName(method)];
  for (const form of forms) {
    if (context.measureText(form).width <= width) return form;
  }
  const name = forms[2];
  const letters = Math.floor(width / (context.measureText(name).width / name.length)) - 1;
  return letters > 1 ? `…${name.slice(-letters)}` : "";
}

const topOf = (level) => (upright ? height - (level + 1) * ROW : level * ROW);

const hatches = new Map();
/** Returns the stripes of boxes whose times are mostly error. */
function hatch(context) {
  const key = isDark();
  if (!hatches.has(key)) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 8;
    const lines = tile.getContext("2d");
    lines.strokeStyle = key ? "rgb(255 255 255 / 38%)" : "rgb(0 0 0 / 34%)";
    lines.lineWidth = 1.4;
    for (const shift of [-8, 0, 8]) {
      lines.moveTo(shift, 8);
      lines.lineTo(shift + 8, 0);
    }
    lines.stroke();
    hatches.set(key, tile);
  }
  return context.createPattern(hatches.get(key), "repeat");
}

/** Returns the appearance of a box: { fill, ink, hatched, bold }. */
function look(node) {
  const method = graph.method[node];
  const [ink, faint, line] = isDark() ? ["#e9ecf1", "#868e9a", "#24272d"] : ["#16191d", "#767d88", "#eceef1"];
  const lane = isThread(method);
  const found = isFound(method);
  return {
    fill: found ? FOUND : sought && !lane ? line : nodeColour(graph, node),
    ink: found ? ON_FOUND : sought && !lane ? faint : ink,
    hatched: (!sought || found) && graph.unsure(node),
    bold: lane,
  };
}

/** Paints the levels between two heights. */
function paint(context, from, to) {
  context.textBaseline = "middle";
  const stripes = hatch(context);
  boxes.forEach((level, at) => {
    const y = topOf(at);
    if (y + ROW < from || y > to) return;
    for (const { node, x, width } of level) {
      const { fill, ink, hatched, bold } = look(node);
      const wide = Math.max(width - (width > 3 ? 1 : 0.2), 0.4);
      context.fillStyle = fill;
      context.fillRect(x, y, wide, ROW - 1);
      if (hatched) {
        context.fillStyle = stripes;
        context.fillRect(x, y, wide, ROW - 1);
      }
      if (width < LABEL_LEAST) continue;
      context.font = bold ? `600 ${FONT}` : FONT;
      const text = fitted(context, graph.method[node], width - 8);
      if (hatched && text) {
        // Text on stripes is hard to read, so it gets a plain background.
        context.fillStyle = fill;
        context.fillRect(x + 3, y + 3, context.measureText(text).width + 2, ROW - 7);
      }
      context.fillStyle = ink;
      context.fillText(text, x + 4, y + ROW / 2);
    }
  });
}

/** Lays out the boxes for the width of the window, and paints the visible ones. */
function draw() {
  if (view !== "flame") return;
  const width = stage.clientWidth;
  boxes = layout(graph, zoomed, width);
  const wasAtFoot = upright && stage.scrollTop + stage.clientHeight >= height - 1;
  height = Math.max(boxes.length * ROW, upright ? stage.clientHeight : ROW);
  $("ground").style.height = `${height}px`;
  if (wasAtFoot) stage.scrollTop = height;
  repaint();
  $("reset").disabled = zoomed === -1;
}

function repaint() {
  const [width, room] = [stage.clientWidth, Math.min(stage.clientHeight, height)];
  const scale = devicePixelRatio || 1;
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(room * scale));
  canvas.style.width = `${width}px`;
  canvas.style.height = `${room}px`;
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  context.translate(0, -stage.scrollTop);
  paint(context, stage.scrollTop, stage.scrollTop + room);
  outline("chosen", chosen);
}

/** Draws a frame around a node, if the node is visible. */
function outline(id, node) {
  const frame = $(id);
  const box = node === -1 ? null : boxes.flat().find((box) => box.node === node);
  frame.hidden = !box;
  if (!box) return;
  frame.style.left = `${box.x}px`;
  frame.style.top = `${topOf(box.level)}px`;
  frame.style.width = `${Math.max(box.width - 1, 2)}px`;
  frame.style.height = `${ROW - 1}px`;
}

/** Returns the box under the mouse or finger. */
function boxUnder(event) {
  const area = $("ground").getBoundingClientRect();
  const [x, y] = [event.clientX - area.left, event.clientY - area.top];
  const level = Math.floor((upright ? height - y : y) / ROW);
  return boxAt(boxes, level, x);
}

function zoom(node) {
  zoomed = node;
  hideTip();
  outline("hovered", -1);
  crumbs();
  draw();
  remember();
}

/** Shows the path to the zoomed node; a click on one of its nodes zooms to it. */
function crumbs() {
  const steps = pathTo(graph, zoomed).map((node) =>
    element("button", { class: "crumb", text: shortName(graph.method[node]), title: fullName(graph.method[node]), onclick: () => zoom(node) }));
  $("path").replaceChildren(...steps);
  if (steps.length) $("path").scrollLeft = $("path").scrollWidth;
  else $("path").textContent = graph.whole ? "" : nothingDrawn();
}

/** Returns the reason why a graph is empty. */
function nothingDrawn() {
  if (ofBytes) return data.measure === "live" ? "No recorded object is alive." : "Nothing was allocated here.";
  if (ofLocks) return "No thread waited for a monitor or lock.";
  return sampled ? "No running thread was sampled." : "None of the shown calls was timed.";
}

/** Returns the description of a node, in a few lines. */
function describe(node) {
  const method = graph.method[node];
  if (isThread(method)) {
    const part = `${weightText(graph.below[node])} (${percent(graph.below[node])})`;
    return [fullName(method), part, graph.isCallers ? "" : "click: this thread alone"].filter(Boolean).join("\n");
  }
  const lines = [fullName(method)];
  const cost = costShown(graph, node);
  if (graph.isCallers) {
    const path = pathTo(graph, node);
    const whose = `${shortName(graph.method[path[0]])}${path.length > 1 ? " on this path" : ""}`;
    lines.push(`${weightText(graph.below[node])} (${percent(graph.below[node])}) ${counts ? "" : ofMethod < 0 ? "self " : "total "}of ${whose}`);
    if (!counts) lines.push(`in ${callsText(cost.calls)}`);
  } else if (counts) {
    lines.push(`${callsText(cost.calls)}, ${weightText(graph.below[node])} at and below`);
  } else {
    const error = (value, all) => (errorText(errorPercent(value, all)) ? ` ± ${errorText(errorPercent(value, all))}` : "");
    lines.push(`total ${totalText(cost)}${error(cost.totalError, cost.total)} (${percent(cost.total)})`);
    if (!isType(method)) lines.push(`self ${ownText(cost)}${isGuess(cost) ? error(cost.ownError, cost.own) : ""} (${percent(cost.own)})`);
    lines.push(sampled ? callsText(cost.calls) : `${callsText(cost.calls)}, mean ${amount(meanOf(cost))}`);
  }
  if (difference) {
    const before = graph.costBefore(node);
    if (counts) lines.push(`before ${callsText(before.calls)} (${changePercent(cost.calls, before.calls) || "the same"})`);
    else {
      const [a, b] = graph.isCallers && ofMethod < 0 ? [before.own, cost.own] : [before.total, cost.total];
      lines.push(`before ${amount(a)}, change ${changeText(b, a)} ${changePercent(b, a)}`);
    }
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

/** Marks a node and shows its details beside the graph. */
function choose(node, open = true) {
  chosen = node;
  if (node !== -1 && !isThread(graph.method[node])) {
    if (open || !$("details").hidden) details(graph.method[node], node);
  }
  if (node !== -1) $("said").textContent = describe(node);
  outline("chosen", node);
}

let pointer = null; // the last event of the mouse, while it is on the graph

function hover(event) {
  pointer = event;
  const box = boxUnder(event);
  outline("hovered", box ? box.node : -1);
  stage.style.cursor = box ? "pointer" : "default";
  box ? showTip(event, describe(box.node)) : hideTip();
}

stage.addEventListener("pointermove", (event) => { if (event.pointerType !== "touch") hover(event); });
stage.addEventListener("pointerleave", () => { pointer = null; outline("hovered", -1); hideTip(); });
stage.addEventListener("scroll", repaint);

// The first click may open the details, which move the boxes and can then lie below the pointer. The
// second click of a double click therefore counts for the node of the first, wherever it lands.
const DOUBLE_MS = 400;
const SAME_PLACE = 8;
const NO_CLICK = { node: -1, time: -DOUBLE_MS, x: 0, y: 0 };
let lastClick = NO_CLICK;
const isSecond = (event) => lastClick.node !== -1
  && event.timeStamp - lastClick.time < DOUBLE_MS
  && Math.hypot(event.clientX - lastClick.x, event.clientY - lastClick.y) < SAME_PLACE;

document.addEventListener("click", (event) => {
  if (!isSecond(event)) return;
  event.stopPropagation();
  event.preventDefault();
  // The browser has selected the word below the pointer.
  getSelection().removeAllRanges();
  canvas.focus({ preventScroll: true });
  hideTip();
  zoomTo(lastClick.node);
  lastClick = NO_CLICK;
}, true);

stage.addEventListener("click", (event) => {
  const node = boxUnder(event)?.node ?? -1;
  lastClick = NO_CLICK;
  if (node === -1) return;
  canvas.focus({ preventScroll: true });
  hideTip();
  if (isThread(graph.method[node]) && !graph.isCallers) return chooseThread(threadOf(graph.method[node]));
  lastClick = { node, time: event.timeStamp, x: event.clientX, y: event.clientY };
  choose(node);
});

/** Zooms to a node; if it is zoomed already, zooms out to its caller. */
const zoomTo = (node) => zoom(node === zoomed ? graph.parent[node] : node);

// Arrow keys move to callers, callees and siblings as they are placed on the screen.
canvas.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const [outwards, inwards] = upright ? ["ArrowDown", "ArrowUp"] : ["ArrowUp", "ArrowDown"];
  const at = chosen === -1 ? zoomed : chosen;
  const aside = (step) => {
    if (at === -1) return graph.calleesOf(-1)[0];
    const siblings = graph.calleesOf(graph.parent[at]);
    return siblings[siblings.indexOf(at) + step];
  };
  const steps = {
    [outwards]: () => (at === -1 ? undefined : graph.parent[at]),
    [inwards]: () => graph.calleesOf(at)[0],
    ArrowLeft: () => aside(-1),
    ArrowRight: () => aside(1),
  };
  if (steps[event.key]) {
    const next = steps[event.key]();
    if (next !== undefined && next !== -1) {
      choose(next, false);
      reveal(next);
    }
  } else if (event.key === "Enter") {
    const method = chosen === -1 ? 0 : graph.method[chosen];
    if (isThread(method) && !graph.isCallers) chooseThread(threadOf(method));
    else if (chosen !== -1) zoomTo(chosen);
  } else if (event.key === " ") {
    if (chosen !== -1) choose(chosen);
  } else if (event.key === "Escape") {
    if (zoomed !== -1) zoom(-1);
    else closeDetails();
    choose(-1);
  } else return;
  event.preventDefault();
});

/** Makes a node visible: zooms out if necessary, and scrolls. */
function reveal(node) {
  if (zoomed !== -1 && !pathTo(graph, node).includes(zoomed) && !pathTo(graph, zoomed).includes(node)) zoom(graph.parent[node]);
  const box = boxes.flat().find((box) => box.node === node);
  if (!box) return;
  const y = topOf(box.level);
  if (y < stage.scrollTop) stage.scrollTop = y;
  else if (y + ROW > stage.scrollTop + stage.clientHeight) stage.scrollTop = y + ROW - stage.clientHeight;
}

function flip(on) {
  upright = on;
  $("flip").setAttribute("aria-pressed", String(on));
  $("flip").textContent = on ? "Root at top" : "Root at foot";
  draw();
  stage.scrollTop = on ? height : 0;
}

$("flip").addEventListener("click", () => { flip(!upright); remember(); });
$("reset").addEventListener("click", () => zoom(-1));

/** Shows the callers of a method or of all methods (-1); null shows callees again. */
function showCallers(of, isBack = false) {
  ofMethod = of ?? -1;
  graph = of === null ? tree : callersTree(tree, of);
  zoomed = chosen = -1;
  $("direction").value = of === null ? "callees" : of === -1 ? "callers" : "method";
  const option = $("direction").querySelector("[value=method]");
  option.hidden = ofMethod < 0;
  if (ofMethod >= 0) option.textContent = `Callers of ${shortName(ofMethod)}`;
  if (isBack) return;
  if (view === "methods") show("flame");
  crumbs();
  refresh();
  remember();
}

$("direction").addEventListener("change", () => {
  const of = { callees: null, callers: -1, method: ofMethod };
  showCallers(of[$("direction").value]);
});

addView({ name: "flame", title: "Flame graph", draw });
