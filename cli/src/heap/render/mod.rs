//! Renderers of the views: tables for a terminal, JSON, and a page for a browser.

mod columns;
pub(super) mod html;
pub(super) mod json;
mod object_line;
pub(super) mod root_line;
pub(super) mod table;
pub(super) mod text;
