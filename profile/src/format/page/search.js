// ---- Search ----

let sought = "";
let hits = new Uint8Array(0); // for each method: 1 if its name was found

const isFound = (method) => sought !== "" && !isThread(method) && hits[method] === 1;

/** Marks the methods whose names contain a text, and shows their percentage of the time. */
function search(text) {
  sought = text.trim().toLowerCase();
  shownRows = STEP;
  searchAgain();
}

function searchAgain() {
  if (sought) hits = Uint8Array.from(lower(), (name) => (name.includes(sought) ? 1 : 0));
  $("found").textContent = foundText();
  refresh();
}

function foundText() {
  if (!sought) return "";
  if (isAllocationTable(view)) return foundAllocations(view);
  const found = methodRows().filter(({ method }) => hits[method]).length;
  return `${grouped.format(found)} found${found && !counts ? `, ${percent(weightOfFound())} of the ${WEIGHED}` : ""}`;
}

/** Returns the time in the methods found. If one calls another, the time counts once. */
function weightOfFound() {
  const { parent, method, below } = tree;
  const inside = new Uint8Array(method.length);
  let sum = 0;
  for (let node = 0; node < method.length; node++) {
    const above = parent[node] >= 0 && inside[parent[node]];
    const hit = isFound(method[node]);
    if (hit && !above) sum += below[node];
    inside[node] = above || hit ? 1 : 0;
  }
  return sum;
}

let typing;
$("search").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => { search($("search").value); remember(true); }, 120);
});
$("search").addEventListener("keydown", (event) => {
  if (event.key !== "Escape" && event.key !== "Enter") return;
  if (event.key === "Escape") {
    $("search").value = "";
    search("");
    remember(true);
  }
  (view === "flame" ? canvas : $(`tab-${view}`)).focus();
  event.preventDefault();
});
document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest?.("input, select, textarea");
  if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  $("search").focus();
  $("search").select();
  event.preventDefault();
});
