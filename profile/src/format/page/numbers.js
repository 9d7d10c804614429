// ---- Numbers as text ----

// The number formats, indexed by decimals.
const fixed = [0, 1, 2].map((digits) =>
  new Intl.NumberFormat("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits }));
// For allocations, bytes stand in the place of times, and objects in the place of calls. Trees of samples count samples,
// trees of locks count waits.
const ofBytes = data.measure === "allocated" || data.measure === "live";
const ofLocks = data.measure === "contention";
const COUNTED = ofBytes ? "objects" : ofLocks ? "waits" : sampled ? "samples" : "calls";
const WEIGHED = counts ? COUNTED : ofBytes ? "bytes" : "time";
const callsText = (calls) => counted(calls, COUNTED.slice(0, -1), COUNTED);
const UNITS = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]];

/** Returns a time, or bytes; a dash for null, which is an unknown value. */
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

/** Returns the time for which the program was watched: without the time in which an agent that was attached changed classes. */
const watchedNs = () => data.header.duration_ns - data.header.attaching_ns;

/** Returns when a method lost probes. 0 stands for all times before the profile's start. */
const afterText = (ns) => (ns ? `after ${time(ns)}` : "before this profile began");

/** Returns the loss of timing probes in words. `moments` are the times of the loss; 0 stands for a method that had none. */
function countedOnly(moments) {
  const lost = moments.filter((ns) => ns > 0);
  if (!lost.length) return "had no timing probes in this profile: calls";
  const first = `lost its timing probes while the program ran, the first method ${afterText(Math.min(...lost))}`;
  return lost.length < moments.length ? `${first}, or had none in this profile: other calls` : `${first}: later calls`;
}

/** Returns a date and time in UTC. */
function utc(millis) {
  const date = new Date(millis);
  return Number.isNaN(date.getTime()) ? "" : `${date.toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** Returns a number of bytes, in units of powers of 1024. */
function bytes(size) {
  if (size < 1023.5) return `${grouped.format(size)} ${Math.round(size) === 1 ? "byte" : "bytes"}`;
  const [name, unit] = size < 1048576 ? ["KB", 1024] : size < 1073741824 ? ["MB", 1048576] : ["GB", 1073741824];
  return `${fixed[1].format(size / unit)} ${name}`;
}

const ratio = (part) => (whole() ? part / whole() : 0);
const percent = (part) => (part === null ? "–" : `${(100 * ratio(part)).toFixed(1)} %`);
const weightText = (value) => (counts ? callsText(value) : amount(value));
/** Returns a number with its marks: at most, at least, estimated. */
const marked = (mark, estimated, ns) => (ns === null ? "" : mark + (estimated && !sampled ? "~" : "")) + amount(ns);

// A method without own bytes shows an exact 0, not an estimate.
const isGuess = (cost) => cost.estimated && !(ofBytes && !cost.own);
const least = (cost) => (cost.partial && !counts ? "≥" : "");
const ownText = (cost) => marked(least({ partial: cost.ownPartial ?? cost.partial }), isGuess(cost), cost.own);
const totalText = (cost) => marked(cost.bound ? "≤" : least(cost), cost.estimated, cost.total);
/** Returns a number of calls, with a mark if it is a lower bound. */
const callCount = (cost) => (cost.callsAreLeast ? "≥" : "") + grouped.format(cost.calls);
const meanOf = (cost) => (cost.timed ? cost.timedTotal / cost.timed : null);
const meanText = (cost) => marked(cost.bound ? "≤" : "", false, meanOf(cost));

/** Returns a standard error in percent of its value. */
const errorPercent = (error, value) => (error ? (100 * error) / Math.max(value ?? 0, 1) : 0);
const ownErrorPercent = (cost) => (isGuess(cost) ? errorPercent(cost.ownError, cost.own) : 0);
const errorText = (percent) => (percent <= 5 ? "" : percent > 999 ? ">999 %" : `${Math.round(percent)} %`);
/** From this error in percent on, a value is mostly error: hatched in graphs, grey in tables. */
const UNSURE = 50;

// ---- Changes ----

const signed = (value, text) => (value > 0 ? `+${text}` : value < 0 ? `−${text}` : text);
const changeText = (now, before) => {
  if (now === null || before === null) return "–";
  return signed(now - before, amount(Math.abs(now - before)));
};
/** Returns whether the times or bytes of a side are only a lower bound. Their change is then unknown. */
const areLeast = (now, before) => Boolean(least(now) || least(before));
/** Returns the change of `own` or `total`; a dash if it is unknown. */
const weightChange = (key, now, before) => (areLeast(now, before) ? "–" : changeText(now[key], before[key]));
/** Returns the number by which rows are sorted: the change of `own` or `total`, 0 if a side is a lower bound. */
const weightGrowth = (key, now, before) => (areLeast(now, before) ? 0 : (now[key] ?? 0) - (before[key] ?? 0));
const countChange = (now, before) => signed(now - before, grouped.format(Math.abs(now - before)));
/** Returns the change of a method's calls; a dash if a side has only a lower bound. */
const callsChange = (now, before) => (now.callsAreLeast || before.callsAreLeast ? "–" : countChange(now.calls, before.calls));
const changePercent = (now, before) => {
  if (now === null || before === null || now === before) return "";
  if (!before) return "new";
  if (!now) return "gone";
  const percent = (100 * (now - before)) / before;
  return signed(percent, `${fixed[1].format(Math.abs(percent))} %`);
};
