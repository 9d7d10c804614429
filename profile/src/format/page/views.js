// ---- Views: each is a section of the page with a tab ----

const views = [];
let view = "flame";

/** Adds a view. `name` is its word in links, and `name`-view is the id of its section. `title` is the text
 * of its tab, and `draw` fills the section. */
function addView(added) {
  views.push(added);
}

const refresh = () => views.find(({ name }) => name === view).draw();

function show(name) {
  view = name;
  for (const { name: other } of views) {
    $(`${other}-view`).hidden = other !== name;
    const tab = $(`tab-${other}`);
    tab.setAttribute("aria-selected", String(other === name));
    tab.tabIndex = other === name ? 0 : -1;
  }
  $("direction").hidden = name !== "flame" && name !== "tree";
  $("found").textContent = foundText();
  hideTip();
  refresh();
  remember();
}

function makeTabs() {
  const tabs = views.map(({ name, title }, at) => {
    const tab = element("button", { role: "tab", id: `tab-${name}`, "aria-controls": `${name}-view`, text: title, onclick: () => show(name) });
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = views[(at + step + views.length) % views.length].name;
      show(next);
      $(`tab-${next}`).focus();
    });
    return tab;
  });
  $("tabs").replaceChildren(...tabs);
}
