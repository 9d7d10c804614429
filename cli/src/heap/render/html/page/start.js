// Fills the header and shows the first view.

function start() {
  document.title = `${data.file.slice(0, 80)} – Loadhook`;
  $("file").textContent = data.file;
  const facts = (dump) => `${grouped.format(dump.instances)} objects · ${bytes(dump.bytes)} · dumped ${dump.time}`;
  $("facts").textContent = `${facts(data)} · ids of ${data.id_size} bytes`;
  for (const id of ["warnings", "remarks"]) $(id).replaceChildren(...data[id].map((text) => element("li", { text })));
  $("notes").hidden = !data.remarks.length;
  $("notes-title").textContent = `${counted(data.remarks.length, "note", "notes")}: ${data.remarks.join(" · ")}`;
  $("sums").textContent = ["strings", "arrays"].map((kind) => {
    const { wasted, instances, values } = duplicates[kind];
    return `${bytes(wasted)} wasted by duplicates: ${grouped.format(instances)} ${kind} have ${counted(values, "distinct value", "distinct values")}`;
  }).join(" · ");
  if (data.changes) {
    const { file, after, all, name, left_out } = data.changes;
    const missing = left_out ? ` The ${grouped.format(left_out)} that shrank most are omitted.` : "";
    $("later").textContent = `${grouped.format(name.length + left_out)} of ${grouped.format(all)} classes have changed in ${file}: ${facts(after)}. Bytes and instances are those of ${file}; a + means that ${file} has more.${missing}`;
  }
  $("tab-changes").hidden = !data.changes;
  route();
  addEventListener("hashchange", route);
  document.documentElement.dataset.ready = "true";
}

start();
