// ---- Locks: the table of places where threads waited for each other ----

const WAITS = { monitor: "monitor", lock: "lock", wait: "Object.wait", park: "park" };

/** Returns the threads that held the lock, with the places where they were; at most three. */
function holderLines(row) {
  const lines = row.holders.slice(0, 3).map(({ thread, at, count }) =>
    element("div", {}, element("bdi", { dir: "ltr" }, element("span", { class: "thread-name", text: thread }), ...(at.method < 0 ? [] : [" at ", siteName(at)]), row.holders.length > 1 ? ` (${grouped.format(count)} ×)` : "")));
  if (row.holders.length > 3) lines.push(element("div", { text: `${grouped.format(row.holders.length - 3)} more` }));
  return lines;
}

function isLockFound({ class: name, at }) {
  return name.toLowerCase().includes(sought) || (at.method >= 0 && lower()[at.method].includes(sought));
}

function lockTable() {
  const titles = ["%", "delay", "waits", "for a", "class", "waited at", "held by"];
  $("locks-columns").replaceChildren(element("tr", {}, ...titles.map((text) => element("th", { scope: "col" }, element("span", { text })))));
  const rows = data.locks.filter((row) => isLockFound(row));
  const shown = lengths.locks ?? STEP;
  const lines = rows.slice(0, shown).map((row) => {
    const isContended = row.kind === "monitor" || row.kind === "lock";
    const open = () => { if (row.at.method >= 0) details(row.at.method); };
    const line = element("tr", { tabindex: 0, onclick: open }, isContended ? share(row.ns) : element("td"),
      element("td", { text: time(row.ns) }), element("td", { text: grouped.format(row.count) }),
      element("td", { text: WAITS[row.kind] }), element("td", { class: "type" }, element("bdi", { text: row.class || "–" })),
      element("td", {}, siteName(row.at)), element("td", { class: "holders" }, ...holderLines(row)));
    line.addEventListener("keydown", (event) => { if (event.key === "Enter") open(); });
    return line;
  });
  if (!lines.length) lines.push(element("tr", {}, element("td", { class: "rest", colspan: titles.length, text: data.locks.length ? "No name contains this text." : nothingDrawn() })));
  $("locks-rows").replaceChildren(...lines);
  const left = rows.length - shown;
  $("locks-more").hidden = left <= 0;
  $("locks-more").textContent = `Show ${grouped.format(Math.min(left, 5 * STEP))} more of ${grouped.format(Math.max(left, 0))}`;
  $("locks-more").onclick = () => { lengths.locks = shown + 5 * STEP; lockTable(); };
}

if (data.locks) addView({ name: "locks", title: "Locks", draw: lockTable });
