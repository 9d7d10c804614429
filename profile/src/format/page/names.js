// ---- Names, and elements that show them ----

const threadName = (at) => data.threads[at].name || "(no name)";
// In a tree of several threads, each thread is a node. The node's method number is -1 for the first thread, -2 for
// the second.
const isThread = (method) => method < 0;
const threadOf = (method) => -1 - method;
const fullName = (method) => (isThread(method) ? `thread ${threadName(threadOf(method))}` : methods.name[method]);
/** Returns the length of the package with its dot. Dots of native libraries separate no packages. */
function packageEnd(method) {
  const name = methods.class[method];
  return NATIVE_LIBRARY.test(name) ? 0 : name.lastIndexOf(".") + 1;
}

/** Class and method without package. */
const shortName = (method) => (isThread(method) ? threadName(threadOf(method)) : methods.name[method].slice(packageEnd(method)));

/** Returns the method's name without its class. */
const bareName = (method) => {
  const named = !isThread(method) && methods.class[method].length < methods.name[method].length;
  return named ? methods.name[method].slice(methods.class[method].length + 1) : shortName(method);
};

/** Returns all names in lower case, made for the first search. */
const lower = () => (data.lowered ??= methods.name.map((name) => name.toLowerCase()));

/** Returns a method's name, with its package in grey and the searched text marked. If there is no room, it is cut
 * at its front. */
function nameOf(method) {
  const name = fullName(method);
  const title = isThread(method) || name.includes("(") ? name : name + methods.descriptor[method];
  const label = element("bdi", { title, dir: "ltr" });
  const cut = isThread(method) ? 0 : packageEnd(method);
  const at = sought && !isThread(method) ? lower()[method].indexOf(sought) : -1;
  let offset = 0;
  for (const [kind, text] of [["package", name.slice(0, cut)], [isThread(method) ? "thread-name" : "", name.slice(cut)]]) {
    const span = element("span", { class: kind });
    const [from, to] = [at - offset, at - offset + sought.length].map((i) => Math.min(Math.max(i, 0), text.length));
    if (at >= 0 && from < to) span.append(text.slice(0, from), element("mark", { text: text.slice(from, to) }), text.slice(to));
    else span.textContent = text;
    // A line may break here.
    label.append(span, element("wbr"));
    offset += text.length;
  }
  return label;
}

/** Returns a cell with a percentage and a bar behind it. */
function share(part) {
  const cell = element("td", { class: "share", text: percent(part) });
  cell.style.setProperty("--part", `${Math.min(100, 100 * ratio(part ?? 0))}%`);
  return cell;
}
