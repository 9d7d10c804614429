// Search, and switching between views.

const views = ["classes", "suspects", "objects", "duplicates", "threads", ...(data.changes ? ["changes"] : [])];
const refreshers = {
  classes: classTable.refresh,
  suspects: showSuspects,
  objects: objectTree.refresh,
  duplicates: duplicateTable.refresh,
  threads: threadTree.refresh,
  changes: changeTable.refresh,
};
function refresh() {
  refreshers[view]();
  const texts = { classes: classes.name, changes: changes.name, duplicates: duplicates.value, threads: data.threads.map((thread) => thread.name) }[view];
  const found = sought && view !== "suspects" ? (texts ? texts.filter(has).length : keptBy(-1).length) : 0;
  $("found").textContent = sought && view !== "suspects" ? `${grouped.format(found)} found` : "";
}

function search(text) {
  sought = text.trim().toLowerCase();
  classTable.forget();
  duplicateTable.forget();
  changeTable.forget();
  refresh();
}

function show(name) {
  view = name;
  for (const other of views) {
    $(other).hidden = other !== name;
    $(`tab-${other}`).setAttribute("aria-selected", String(other === name));
    $(`tab-${other}`).tabIndex = other === name ? 0 : -1;
  }
  refresh();
}

for (const [at, name] of views.entries()) {
  $(`tab-${name}`).addEventListener("click", () => { location.hash = name; show(name); });
  $(`tab-${name}`).addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: views.length - 1 }[event.key];
    if (!step) return;
    const next = views[(at + step) % views.length];
    location.hash = next;
    show(next);
    $(`tab-${next}`).focus();
  });
}

let typing;
$("search").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => search($("search").value), 120);
});
