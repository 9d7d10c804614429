// Tables that sort by their columns: classes, duplicates, changes.

const STEP = 200;

/** Makes a table that sorts by its columns, and shows only rows that contain the search text. */
function table(name, count, columns, textOf) {
  $(`${name}-rows`).parentElement.style.setProperty("--columns", columns.length - 1);
  let order = null; // { column, down }; null is the order of the data
  let shown = STEP;
  const made = {
    refresh() {
      $(`${name}-columns`).replaceChildren(element("tr", {}, ...columns.map((column) => {
        const head = element("th", { scope: "col" });
        const sorted = order?.column === column;
        if (sorted) head.setAttribute("aria-sort", order.down ? "descending" : "ascending");
        const arrow = sorted ? (order.down ? " ↓" : " ↑") : "";
        head.append(element("button", { text: column.title + arrow, onclick: () => made.sortBy(column) }));
        return head;
      })));
      const chosen = [...Array(count).keys()].filter((at) => has(textOf(at)));
      if (order) {
        const { value } = order.column;
        const sign = order.down ? -1 : 1;
        chosen.sort((a, b) => {
          const [x, y] = [value(a), value(b)];
          return sign * (x < y ? -1 : x > y ? 1 : 0);
        });
      }
      $(`${name}-rows`).replaceChildren(...chosen.slice(0, shown).map((at) =>
        element("tr", {}, ...columns.map((column) => column.cell(at)))));
      const left = chosen.length - shown;
      $(`${name}-more`).hidden = left <= 0;
      $(`${name}-more`).textContent = `Show ${grouped.format(Math.min(left, 5 * STEP))} more of ${grouped.format(Math.max(left, 0))}`;
      return chosen.length;
    },
    sortBy(column) {
      const down = typeof column.value(0) === "number";
      order = { column, down: order?.column === column ? !order.down : down };
      made.refresh();
    },
    forget() { shown = STEP; },
  };
  $(`${name}-more`).addEventListener("click", () => { shown += 5 * STEP; made.refresh(); });
  return made;
}

const { classes, duplicates } = data;
const column = (title, values, cell) => ({ title, value: (at) => values[at], cell: (at) => (cell ?? number)(values[at], at) });
/** Makes a text that shows all its lines after a click. */
const unfolding = (text) => element("td", { class: "text", title: text, onclick: (event) => event.currentTarget.classList.toggle("open") }, marked(text));
const classTable = table("class", classes.name.length, [
  column("bytes %", classes.bytes, share),
  column("bytes", classes.bytes, sized),
  column("instances", classes.instances),
  column("retained", classes.retained, sized),
  column("class", classes.name, (name, at) => element("td", {}, named(name, `class-${at}`))),
], (at) => classes.name[at]);
const duplicateTable = table("duplicate", duplicates.wasted.length, [
  column("wasted %", duplicates.wasted, share),
  column("wasted", duplicates.wasted, sized),
  column("count", duplicates.count),
  column("bytes", duplicates.bytes, sized),
  column("value", duplicates.value, unfolding),
], (at) => duplicates.value[at]);

// The classes that changed, if there is a later dump. Each number is a pair: in this dump, and in the later one.
const changes = data.changes ?? { name: [], instances: [], bytes: [] };
const differences = (pairs) => pairs.map(([before, after]) => after - before);
const after = (pairs) => pairs.map((pair) => pair[1]);
const signed = (value, text) => element("td", { text: `${value > 0 ? "+" : value < 0 ? "−" : ""}${text(Math.abs(value))}` });
const changeTable = table("change", changes.name.length, [
  column("± bytes", differences(changes.bytes), (value) => signed(value, bytes)),
  column("bytes", after(changes.bytes), sized),
  column("± instances", differences(changes.instances), (value) => signed(value, grouped.format)),
  column("instances", after(changes.instances)),
  column("class", changes.name, unfolding),
], (at) => changes.name[at]);
