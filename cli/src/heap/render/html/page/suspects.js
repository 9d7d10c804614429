// Leak suspects in sentences.

const links = (at) => element("a", { href: `#${view}/${objects.id[at]}`, text: objectName(at) });
const part = (size) => `${bytes(size)} (${fixed.format(data.bytes ? (100 * size) / data.bytes : 0)} %)`;
const className = (at) => objects.names[objects.name[at]];

/** Makes an article about a suspect: a sentence, and lists of the objects that retain its bytes. */
function suspect({ objects: all, count, retained, down, below }) {
  const made = element("article", {});
  const says = element("p", {});
  made.append(says);
  if (count > 1) {
    says.append(`${grouped.format(count)} objects of ${className(all[0])} together retain ${part(retained)}; each of them alone retains less than ${data.suspects.threshold} %.`);
    if (down.length) says.append(" Nearly all paths to them go through ", links(down.at(-1)), ".");
    made.append(element("h3", { text: "The largest of them" }), element("ul", {}, ...all.map((at) => element("li", {}, links(at), ` · retains ${bytes(objects.retained[at])}`))));
    return made;
  }
  const [first, point] = [down[0], down.at(-1)];
  says.append(links(first), ` retains ${part(retained)}.`);
  if (point !== first) says.append(" Nearly all of this memory is retained by ", links(point), `, which retains ${bytes(objects.retained[point])}.`);
  const own = objects.bytes[point];
  if (2 * own > objects.retained[point]) says.append(` Most of that is ${point === first ? "the object" : "this object"} itself: ${bytes(own)}.`);
  else if (below.length) says.append(` Directly below this object, ${counted(below[0][1], "object", "objects")} of ${className(below[0][0])} ${below[0][1] === 1 ? "retains" : "retain"} ${bytes(below[0][2])}.`);
  if (down.length > 2) made.append(element("h3", { text: "From the suspect to the accumulation point" }), element("ul", {}, ...down.map((at) => element("li", {}, links(at), ` · retains ${bytes(objects.retained[at])}`))));
  if (below.length) {
    made.append(element("h3", { text: "Dominated by the accumulation point" }), element("ul", {}, ...below.map(([at, count, retained]) =>
      element("li", {}, `${counted(count, "object", "objects")} of ${className(at)} · ${count === 1 ? "retains" : "retain"} ${bytes(retained)} · ${count === 1 ? "" : "the largest "}`, links(at)))));
  }
  return made;
}

function showSuspects() {
  const { threshold, rows } = data.suspects;
  $("suspect-rows").replaceChildren(...rows.map(suspect));
  $("suspect-sum").textContent = rows.length
    ? `Single objects, and classes as a whole, that retain ${threshold} % of all bytes or more. From a single object, the path goes down the dominator tree as long as one object retains nearly all of it (80 %); the last object is the accumulation point.`
    : `Neither a single object nor a class as a whole retains ${threshold} % of all bytes.`;
}
