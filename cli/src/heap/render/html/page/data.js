// The data of the page, in columns; see mod.rs, and objects.rs for the columns of objects. Objects
// are ordered by retained size, so each comes after its dominator.
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
