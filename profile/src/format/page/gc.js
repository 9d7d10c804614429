// ---- Pauses of the garbage collector, if they were recorded ----

function gcTable() {
  const { facts, rows } = data.gc;
  $("gc-facts").textContent = facts.join(" \u00b7 ");
  const head = ["%", "time", "pauses", "longest", "collector", "cause"].map((text) => element("th", { scope: "col" }, element("span", { text })));
  $("gc-columns").replaceChildren(element("tr", {}, ...head));
  $("gc-rows").replaceChildren(...rows.map(([cause, collector, pauses, total, longest]) => {
    const share = `${(100 * total / watchedNs()).toFixed(2)} %`;
    const cells = [share, time(total), grouped.format(pauses), time(longest), collector, cause];
    return element("tr", {}, ...cells.map((text) => element("td", { text })));
  }));
}

if (data.gc) addView({ name: "gc", title: "GC", draw: gcTable });
