"use strict";
// ---- Definitions for all pages: those of profiles, and of heap dumps ----

const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** Returns a number with its noun, for example `2 calls`. */
const counted = (number, one, several) => `${grouped.format(number)} ${number === 1 ? one : several}`;

/** Returns an element with attributes, listeners, text and children. */
function element(tag, options = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(options)) {
    if (key === "text") made.textContent = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

