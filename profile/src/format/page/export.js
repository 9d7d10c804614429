// ---- Export of the shown graph as SVG, PNG or collapsed stacks ----

// Browsers refuse strings of more than half a gigabyte.
const MOST_LETTERS = 256e6;
// The largest side of a picture that all browsers can make.
const MOST_PIXELS = 16000;

/** Returns the graph as SVG, with all boxes, so that the picture needs no scrolling. */
function svgText() {
  // The HTML parser supplies the SVG namespace, so the page contains no address.
  const holder = element("template");
  holder.innerHTML = "<svg></svg>";
  const svg = holder.content.firstChild;
  const make = (tag, attributes, text) => {
    const made = document.createElementNS(svg.namespaceURI, tag);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const width = stage.clientWidth;
  const head = 24;
  svg.setAttribute("viewBox", `0 0 ${width} ${height + head}`);
  svg.setAttribute("width", width);
  svg.setAttribute("height", height + head);
  svg.setAttribute("font-family", "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif");
  svg.setAttribute("font-size", "12");
  const [ground, ink] = isDark() ? ["#16181c", "#e9ecf1"] : ["#ffffff", "#16191d"];
  const stripes = make("pattern", { id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" });
  stripes.append(make("rect", { width: 2, height: 6, fill: ink, "fill-opacity": 0.35 }));
  const definitions = make("defs", {});
  definitions.append(stripes);
  svg.append(
    definitions,
    make("rect", { width: "100%", height: "100%", fill: ground }),
    make("text", { x: 4, y: 16, fill: ink }, `${document.title} · ${percent(zoomed === -1 ? graph.whole : graph.below[zoomed])} of the ${WEIGHED}`),
  );
  const context = document.createElement("canvas").getContext("2d");
  context.font = FONT;
  for (const { node, x, level, width } of boxes.flat()) {
    const y = head + topOf(level);
    const { fill, ink, hatched, bold } = look(node);
    const box = make("g", {});
    const area = { x: x.toFixed(1), y, width: Math.max(width - 0.6, 0.4).toFixed(1), height: ROW - 1 };
    box.append(make("title", {}, describe(node)), make("rect", { ...area, fill }));
    if (hatched) box.append(make("rect", { ...area, fill: "url(#hatch)" }));
    const text = width < LABEL_LEAST ? "" : fitted(context, graph.method[node], width - 8);
    if (text) box.append(make("text", { x: (x + 4).toFixed(1), y: y + 14, fill: ink, ...(bold ? { "font-weight": 600 } : {}) }, text));
    svg.append(box);
  }
  return new XMLSerializer().serializeToString(svg);
}

function pngCanvas() {
  const picture = document.createElement("canvas");
  const width = stage.clientWidth;
  const scale = Math.min(2, MOST_PIXELS / height, MOST_PIXELS / width);
  picture.width = Math.round(width * scale);
  picture.height = Math.round(height * scale);
  const context = picture.getContext("2d");
  context.scale(scale, scale);
  context.fillStyle = isDark() ? "#16181c" : "#ffffff";
  context.fillRect(0, 0, width, height);
  paint(context, 0, height);
  return picture;
}

/** Returns the zoomed part as lines `caller;callee weight`, in the order of the tree; without threads. */
function collapsedText() {
  const lines = [];
  let letters = 0;
  const clean = (node) => fullName(graph.method[node]).replaceAll(";", ":");
  const above = pathTo(graph, zoomed).filter((node) => !isThread(graph.method[node])).map(clean);
  const todo = [...graph.calleesOf(zoomed)].reverse().map((node) => ({ node, prefix: above }));
  const push = (node, path) => {
    const callees = graph.calleesOf(node);
    // In a graph of callers, a line ends where a part of the time has no further caller.
    const weight = graph.isCallers
      ? graph.below[node] - callees.reduce((sum, callee) => sum + graph.below[callee], 0)
      : counts ? graph.cost(node).calls : graph.cost(node).own ?? 0;
    const stack = graph.isCallers ? path.toReversed() : path;
    if (Math.round(weight) > 0 && stack.length) {
      lines.push(`${stack.join(";")} ${Math.round(weight)}`);
      letters += lines.at(-1).length + 1;
    }
    return callees;
  };
  if (zoomed !== -1) push(zoomed, above);
  while (todo.length && letters < MOST_LETTERS) {
    const { node, prefix } = todo.pop();
    const path = isThread(graph.method[node]) ? prefix : [...prefix, clean(node)];
    const callees = push(node, path);
    for (let at = callees.length - 1; at >= 0; at--) todo.push({ node: callees[at], prefix: path });
  }
  if (todo.length) return null;
  return lines.map((line) => `${line}\n`).join("");
}

function told(text) {
  $("exported").textContent = text;
  $("said").textContent = text;
}

function download(content, type, extension) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = element("a", { href: address, download: `flame-graph.${extension}` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
  told(`flame-graph.${extension} is saved`);
}

/** Copies text by means of a selection, because a page opened from a file may not use the clipboard. */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = element("textarea", { class: "unseen" });
    area.value = text;
    document.body.append(area);
    area.select();
    const isDone = document.execCommand("copy");
    area.remove();
    if (!isDone) return told("The browser refuses to copy; download the file instead");
  }
  told("Copied");
}

async function copyPicture() {
  const made = new Promise((resolve) => pngCanvas().toBlob(resolve, "image/png"));
  try {
    await navigator.clipboard.write([new ClipboardItem({ "image/png": made })]);
    told("Copied");
  } catch {
    told("The browser refuses to copy pictures; download the file instead");
  }
}

function withCollapsed(use) {
  const text = collapsedText();
  if (text === null) return told("The stacks are too long for a browser: zoom in first, or use loadhook report --format collapsed");
  use(text);
}

const EXPORTS = {
  "svg-download": () => download(svgText(), "image/svg+xml", "svg"),
  "svg-copy": () => copy(svgText()),
  "png-download": () => pngCanvas().toBlob((blob) => download(blob, "image/png", "png"), "image/png"),
  "png-copy": copyPicture,
  "collapsed-download": () => withCollapsed((text) => download(text, "text/plain", "collapsed.txt")),
  "collapsed-copy": () => withCollapsed(copy),
};
for (const [id, run] of Object.entries(EXPORTS)) {
  $(id).addEventListener("click", () => {
    if (view !== "flame") show("flame");
    run();
  });
}
document.addEventListener("click", (event) => { if (!$("export").contains(event.target)) $("export").open = false; });
$("export").addEventListener("keydown", (event) => { if (event.key === "Escape") $("export").open = false; });
