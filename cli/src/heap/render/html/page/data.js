"use strict";
// The data of the page, in columns; see mod.rs, and objects.rs for the columns of objects. Objects come in
// the order of their retained sizes, each behind its dominator.
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
