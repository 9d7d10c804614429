// Numbers, names and cells of tables.

const fixed = new Intl.NumberFormat("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1 });

/** Formats bytes in powers of 1024, with three digits, as on the terminal. */
function bytes(size) {
  let rest = size;
  for (const unit of ["bytes", "KB", "MB", "GB"]) {
    if (rest < 1023.5 || unit === "GB") {
      const text = unit !== "bytes" && rest < 99.95 ? fixed.format(rest) : grouped.format(Math.round(rest));
      return `${text} ${size === 1 ? "byte" : unit}`;
    }
    rest /= 1024;
  }
}

const number = (value) => element("td", { text: grouped.format(value) });

/** Makes a cell with a size. Its tooltip has the exact number. */
const sized = (value) => element("td", { text: bytes(value), title: `${grouped.format(value)} bytes` });

/** Formats a number of bytes in percent of all bytes. */
function share(part) {
  const percent = data.bytes ? (100 * part) / data.bytes : 0;
  const cell = element("td", { class: "share", text: `${percent.toFixed(1)} %` });
  cell.style.setProperty("--part", `${Math.min(100, percent)}%`);
  return cell;
}

let view = "classes";
let sought = "";
const has = (text) => !sought || text.toLowerCase().includes(sought);

/** Makes a text in which the search text is marked. */
function marked(text) {
  const label = element("bdi", { dir: "ltr" });
  const at = sought ? text.toLowerCase().indexOf(sought) : -1;
  if (at < 0) label.textContent = text;
  else label.append(text.slice(0, at), element("mark", { text: text.slice(at, at + sought.length) }), text.slice(at + sought.length));
  return label;
}

/** Makes a link to details. If there is no room, the front of the name is cut. */
const named = (text, place) => element("a", { class: "front", href: `#${view}/${place}`, title: text }, marked(text));
