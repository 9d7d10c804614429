// ---- Colours: a hue for each package, a shade for each class; separate colours for the JDK,
// native code and types ----

const dark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => dark.matches;
const FOUND = "#ffd84d";
const ON_FOUND = "#1c1f24";

const NATIVE_LIBRARY = /^(\[|\(native|.*\.(so|dylib|dll)(\.[\d.]+)?$)/;

// Allocated types and the classes of locks are callees of the methods that use them.
const hasTypes = ofBytes || ofLocks;

/** Returns the kind of a method: app, jdk, native, type (of allocated objects or locks) or other (no method). */
function kindOf(method) {
  const [name, loader] = [methods.class[method], methods.loader[method]];
  if (NATIVE_LIBRARY.test(name) && !(hasTypes && name.startsWith("["))) return "native";
  if (name.startsWith("(")) return "other";
  if (hasTypes && !methods.descriptor[method]) return "type";
  return loader === "" || loader === "platform" || /^(java|jdk|sun)\./.test(name) ? "jdk" : "app";
}

const packageOf = (method) => methods.class[method].slice(0, Math.max(0, packageEnd(method) - 1));

/** Returns a hash of 32 bits that mixes all bits, so that similar names get different colours. */
function hash(text) {
  let bits = 2166136261;
  for (let at = 0; at < text.length; at++) bits = Math.imul(bits ^ text.charCodeAt(at), 16777619);
  bits = Math.imul(bits ^ (bits >>> 15), 0x85ebca6b);
  return Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35) >>> 0;
}

// Hue and saturation of everything except the program's own classes. Native code has the hues from
// 250 to 290.
const KINDS = { jdk: [212, 14], native: [272, 42], type: [312, 40], other: [0, 0] };

/** Returns a CSS colour: `hue` in degrees, `saturation` in percent, `shade` from 0 (dark) to 1 (light). */
function hsl(hue, saturation, shade) {
  return isDark()
    ? `hsl(${hue} ${Math.round(saturation * 0.62)}% ${Math.round(26 + 12 * shade)}%)`
    : `hsl(${hue} ${saturation}% ${Math.round(72 + 13 * shade)}%)`;
}

// The number of hues from red to blue that an eye can distinguish.
const HUES = 16;
const HUE_STEP = 15;
let hues;

/** Returns the hue of each package. A hue is the hash of the package's name, so a package has the same colour in all
 * pages. If two packages have the same hue, the lighter one gets the next free hue, as long as there is one. */
function packageHues() {
  if (hues) return hues;
  const weights = new Map();
  for (const thread of data.threads) {
    const { keys: [method], now } = rowsOf(thread);
    method.forEach((one, at) => {
      if (kindOf(one) !== "app") return;
      const name = packageOf(one);
      weights.set(name, (weights.get(name) ?? 0) + (counts ? now.calls[at] : now.own[at] || 0));
    });
  }
  const taken = new Set();
  hues = new Map();
  for (const [name] of [...weights].sort((a, b) => b[1] - a[1])) {
    let slot = hash(name) % HUES;
    // 5 and 16 have no common divisor, so all slots are tried.
    while (taken.has(slot) && taken.size < HUES) slot = (slot + 5) % HUES;
    taken.add(slot);
    hues.set(name, slot * HUE_STEP);
  }
  return hues;
}

function packageColour(name, shade) {
  return hsl(packageHues().get(name) ?? (hash(name) % HUES) * HUE_STEP, 56 + (hash(name) >>> 8) % 3 * 12, shade);
}

function colour(method) {
  const colours = (data[isDark() ? "darkColours" : "lightColours"] ??= new Map());
  let made = colours.get(method);
  if (made === undefined) {
    const kind = kindOf(method);
    const shade = (hash(methods.class[method]) % 8) / 7;
    made = kind === "app" ? packageColour(packageOf(method), shade) : hsl(...KINDS[kind], shade);
    colours.set(method, made);
  }
  return made;
}

// ---- Differences: red for growth, blue for decrease ----

/** Returns the colour of a change from -1 (gone) through 0 to 1 (new). */
function changeColour(change) {
  const strength = Math.min(1, Math.abs(change) * 1.6);
  if (strength < 0.03) return hsl(0, 0, 0.7);
  const hue = change > 0 ? 4 : 216;
  return isDark()
    ? `hsl(${hue} ${Math.round(18 + 50 * strength)}% ${Math.round(30 + 10 * strength)}%)`
    : `hsl(${hue} ${Math.round(45 + 45 * strength)}% ${Math.round(90 - 24 * strength)}%)`;
}

/** Returns the change of a node as a fraction of the larger side; 0 if it is within twice its standard error. */
function changeOf(tree, node) {
  const [now, before] = [tree.cost(node), tree.costBefore(node)];
  const own = tree.isCallers && ofMethod < 0;
  const [value, error] = counts ? ["calls", null] : own ? ["own", "ownError"] : ["total", "totalError"];
  const [a, b] = [before[value] ?? 0, now[value] ?? 0];
  const noise = error ? 2 * Math.hypot(before[error], now[error]) : 0;
  const larger = Math.max(a, b);
  return larger && Math.abs(b - a) > noise ? (b - a) / larger : 0;
}

function nodeColour(tree, node) {
  const method = tree.method[node];
  if (difference && !isThread(method)) return changeColour(changeOf(tree, node));
  return isThread(method) ? (isDark() ? "#2b2f36" : "#e6e8ec") : colour(method);
}

// ---- Legend ----

/** Returns the meanings of the colours, the heaviest first: { colour, text, weight }. */
function legend() {
  if (difference) {
    return [[-0.5, "half"], [-0.2, "less"], [0, "same, or within the error"], [0.2, "more"], [0.5, "twice"], [1, "new"]]
      .map(([change, text]) => ({ colour: changeColour(change), text }));
  }
  const packages = new Map();
  for (const { method, now } of methodRows()) {
    const kind = kindOf(method);
    const text = { jdk: "JDK", native: "native code", type: "types", other: "no method" }[kind] ?? (packageOf(method) || "(no package)");
    const key = `${kind} ${text}`;
    if (!packages.has(key)) {
      packages.set(key, { text, weight: 0, colour: kind === "app" ? packageColour(packageOf(method), 0.5) : hsl(...KINDS[kind], 0.5) });
    }
    packages.get(key).weight += counts ? now.calls : now.own ?? 0;
  }
  return [...packages.values()].sort((a, b) => b.weight - a.weight);
}
