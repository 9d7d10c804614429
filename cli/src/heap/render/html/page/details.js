// The panel with the details of a class or an object.

const byId = new Map(objects.id.map((id, at) => [id, at]));
const heading = (text) => element("h3", { text });

/** Returns the contents of a string or an array: `"text"`, `{1, 2}`. */
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
    ...(left > 0 ? [element("p", { class: "quiet", text: `${counted(left, "more instance, which retains less, is", "more instances, which retain less, are")} not on this page.` })] : []),
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
  const facts = element("p", { class: "quiet" }, `${bytes(objects.bytes[at])}, ${retained < 0 ? "unreachable" : `retains ${part(retained)}`}`);
  if (ofClass >= 0) facts.append(" · ", element("a", { href: `#${view}/class-${ofClass}`, text: "all instances of its class" }));
  const all = [element("h2", { text: objectName(at) }), facts];
  if (contents(at)) all.push(element("p", { class: "contents", text: `${contents(at).trim()} · length ${grouped.format(objects.texts[at][1])}` }));
  const details = objects.details[at];
  if (!details) {
    all.push(element("p", { class: "quiet", text: `The fields of this object are not on this page. For its path to a root, run: loadhook heap ${data.file} --path ${objects.id[at]}` }));
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
  all.push(heading("Path to the root"));
  const root = details.root === null ? "none: the object is unreachable" : `root: ${objects.names[details.root].replace(/^root: /, "")}`;
  all.push(element("ol", {}, ...details.way.map(([from, by]) => element("li", {}, `↑ ${objects.names[by]} of `, links(from))), ...(details.is_cut ? [element("li", { class: "quiet", text: "… more objects" })] : []), element("li", { text: root })));
  return all;
}

/** Shows an object by its identifier, a class by its number as `class-3`, or hides the panel. */
function showDetails(what) {
  const ofClass = /^class-(\d+)$/.exec(what);
  const shown = ofClass ? classes.name[ofClass[1]] !== undefined && classDetails(Number(ofClass[1]))
    : byId.has(what) && objectDetails(byId.get(what));
  $("details").hidden = !shown;
  $("details-content").replaceChildren(...(shown || []));
  $("details").scrollTop = 0;
}

/** Follows a link, which names the view and the object in the details panel: `#threads`, `#objects/0x7f00`. */
function route() {
  const [name, what = ""] = location.hash.slice(1).split("/");
  const wanted = views.includes(name) ? name : "classes";
  if (wanted !== view || !document.documentElement.dataset.ready) show(wanted);
  showDetails(what);
}

$("close").addEventListener("click", () => { location.hash = view; });
