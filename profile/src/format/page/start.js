// ---- Start: the head of the page ----

const MOST_CHIPS = 8;

function warnings() {
  const { header } = data;
  const made = [];
  if (header.overflowed_calls) made.push(`${counted(header.overflowed_calls, "call is", "calls are")} counted as (tree full): too many nodes (raise --max-nodes), too little heap (raise -Xmx), or calls a million deep`);
  for (const pattern of header.unmatched) made.push(`No ${pattern.includes("::") ? "method" : "class"} matched ${pattern}`);
  if (header.not_ended && !$("live")) made.push(header.notes[0]);
  if (data.leftOut) made.push(`${grouped.format(data.leftOut)} of the lightest tree nodes omitted from this page`);
  if (difference && Math.min(...difference.runs) < 2) made.push("A side has only one run, so noise cannot be distinguished from change; compare several runs of each side");
  if (allocations) made.push(...allocationWarnings());
  return made;
}

function remarks() {
  const { header } = data;
  const rows = methodRows();
  const some = (test) => rows.some(({ now }) => test(now));
  const made = [];
  if (difference && some((cost) => !cost.calls)) made.push("Methods that are gone have no width; the table of methods lists them");
  if (!rows.length) made.push(hasTypes ? nothingDrawn() : "No instrumented method was called");
  const until = rows.flatMap((row) => (row.until === undefined ? [] : [row.until]));
  const but = until.length || data.methodCalls.some(([, calls]) => calls === null) ? " but for ≥" : "";
  if (sampled) made.push(`Times are processor time by samples. Calls are exact${but}, of all threads and callers together; – where not counted`);
  else if (some((cost) => cost.estimated)) made.push(ofBytes ? "~ estimated from a random sample of the allocations" : header.timing === "exact" ? `~ the estimated cost of reading the clock is subtracted; counts are exact${but}` : `~ estimated from a random sample of the calls; counts are exact${but}`);
  if (some((cost) => cost.estimated)) made.push("± standard error; hatched in graphs and faint in tables: more than half of the value is error");
  if (some((cost) => cost.bound)) made.push("≤ upper bound: recursive calls may be counted twice");
  made.push(...((allocations ?? data).unsized));
  const isLeast = (cost) => cost?.partial && cost.total !== null;
  const hasLeast = rows.some(({ now, before }) => isLeast(now) || isLeast(before));
  if (!ofBytes && !counts && hasLeast) made.push(`≥ lower bound: the time of some calls is unknown; means are of the other calls${difference ? "; a change of such times is not known" : ""}`);
  const since = rows.flatMap((row) => (row.since === undefined || row.until !== undefined ? [] : [row.since]));
  if (since.length) made.push(`‡ ${countedOnly(since)} are counted but not timed, and their time is in their callers' self time`);
  if (since.length && (data.threads.length > 1 || data.methodCalls.some(([, calls]) => calls === null))) made.push("≥ before ‡: without the calls that are only counted, because these are counted for all threads and callers together");
  if (until.length) made.push(`≥ before calls: lost its last probe while the program ran, the first method ${afterText(Math.min(...until))}: later calls are not counted; ${sampled ? "their times are complete, but they have no mean" : "their time is in their callers' self time"}`);
  if (data.partlyCounted?.length) made.push("≥ before calls: lost probes while the program ran; later calls are not in this page, so a change of calls is not known");
  if (rows.some(({ latency }) => latency)) made.push("p99: 99 % of the calls take at most this long; the figures are at most a sixteenth too long");
  if (rows.some(({ latency }) => latency?.isPartial)) made.push("† percentiles of a part of the calls: the others had not ended, were not timed, or there was too little heap to record them");
  const alone = Object.entries(header.left_alone).map(([reason, count]) => `${grouped.format(count)} ${reason}`);
  if (alone.length) made.push(`Methods not instrumented: ${alone.join(", ")}`);
  return made;
}

/** Fills the line that unfolds: the legend, notes, or warnings. Only warnings are coloured. */
function notesLine() {
  const { header } = data;
  const notes = header.not_ended ? header.notes.slice(1) : header.notes;
  const warned = warnings();
  const colours = legend();
  const chip = ({ colour, text }) => {
    const square = element("i");
    square.style.background = colour;
    return element("span", { class: "chip" }, square, text);
  };
  const items = (id, texts) => $(id).replaceChildren(...texts.map((text) => element("li", { text })));
  items("warnings", warned);
  items("remarks", remarks());
  items("notes-list", notes);
  $("legend").replaceChildren(...colours.map(chip));
  $("legend-title").textContent = difference
    ? "Width: present time. Colour: red for growth, blue for decrease"
    : `Colours: a hue for each package, a shade for each class; JDK, native code${hasTypes ? " and types" : ""} apart`;
  const said = [
    warned.length && element("span", { class: "warned", text: warned.length > 1 ? `${warned.length} warnings: ${warned[0]}` : warned[0] }),
    element("span", { class: "counted", text: `Legend${notes.length ? ` and ${counted(notes.length, "note", "notes")}` : ""}` }),
    ...colours.slice(0, MOST_CHIPS).map(chip),
  ];
  $("notes-title").replaceChildren(...said.filter(Boolean));
}

function facts() {
  const { header } = data;
  const measured = ofBytes ? (data.measure === "live" ? "allocations that are alive" : "allocations") : ofLocks ? "waits for monitors and locks that other threads held" : counts ? "calls counted, not timed" : sampled ? "times from samples" : `${header.clock} clock, ${header.timing} timing`;
  // Objects and waits of a method count for its callers, too.
  const outermost = [...tree.calleesOf(-1)].flatMap((node) => (isThread(tree.method[node]) ? [...tree.calleesOf(node)] : [node]));
  const exact = data.methodCalls.reduce((sum, [, calls]) => sum + (calls ?? 0), 0);
  const least = data.methodCalls.some(([, calls, , until]) => until !== null || calls === null) ? "≥" : "";
  const exactText = exact ? least + counted(exact, "call", "calls") : "calls not counted";
  const calls = hasTypes ? outermost.reduce((sum, node) => sum + tree.now.calls[node], 0) : methodRows().reduce((sum, { now }) => sum + now.calls, 0);
  const estimated = ofBytes && methodRows().some(({ now }) => now.estimated);
  const runsText = (count) => counted(count, "run", "runs");
  const runs = difference && `${runsText(difference.runs[1])}, compared with ${runsText(difference.runs[0])} before`;
  return [
    header.start_epoch_millis ? utc(header.start_epoch_millis) : "",
    time(watchedNs()) + (header.attaching_ns > 0.01 * header.duration_ns ? ` watched, ${time(header.attaching_ns)} before to change classes` : ""),
    runs,
    ...(allocations ? [amountFacts()] : [measured, ...(sampled ? [exactText, ...data.samplingFacts] : [least + (estimated ? "~" : "") + callsText(calls)])]),
    data.threads.length && data.threadsText,
    header.tracker_bytes && `tracker ${bytes(header.tracker_bytes)}`,
    header.jvm,
  ].filter(Boolean).join(" · ");
}

function threadOptions() {
  const names = [...data.threads.keys()].sort((a, b) => (data.threads[a].name < data.threads[b].name ? -1 : 1));
  const option = (at) => element("option", { value: at, text: threadName(at) });
  const idle = names.filter((at) => data.threads[at].waited).map(option);
  return [
    element("option", { value: SIDE_BY_SIDE, text: "All threads, side by side" }),
    element("option", { value: LAID_OVER, text: "All threads, laid over each other" }),
    ...names.filter((at) => !data.threads[at].waited).map(option),
    ...(idle.length ? [element("optgroup", { label: "Only waited" }, ...idle)] : []),
  ];
}

/** Fills the head of the page, as far as it does not depend on the chosen thread. */
function head() {
  const command = data.header.command || "Java program";
  document.title = `${command.slice(0, 80)} – Loadhook`;
  $("command").textContent = command;
  $("thread").replaceChildren(...threadOptions());
  $("thread").hidden = data.threads.length < 2;
}

function start() {
  head();
  const words = { time: "Time", allocated: "Allocated bytes", live: "Live bytes", contention: "Contention" };
  $("measure").replaceChildren(...measures.map(({ measure }) => element("option", { value: measure, text: words[measure] })));
  $("measure").value = data.measure;
  $("measure").hidden = measures.length < 2;
  $("measure").addEventListener("change", () => {
    location.hash = `${$("measure").value}/${view}`;
    location.reload();
  });
  if (allocations) $("search").setAttribute("aria-label", "Search methods and types");
  order = orderOfReport();
  makeTabs();
  setThread(SIDE_BY_SIDE);
  graph = tree;
  $("facts").textContent = facts();
  notesLine();
  restore();
  $("notes").addEventListener("toggle", draw);
  addEventListener("resize", draw);
  dark.addEventListener("change", () => { notesLine(); draw(); });
  performance.mark("flame graph drawn");
  document.documentElement.dataset.ready = "true";
}

start();
