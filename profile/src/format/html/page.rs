//! Puts the files of a page together around its data.

use std::io::{self, Write};

use serde_json::Value;

const PAGE: &str = include_str!("../page/page.html");
/// The style that all pages share.
const STYLE: &str = include_str!("../page/page.css");
/// The additional style of pages of profiles.
const GRAPH_STYLE: &str = include_str!("../page/graph.css");

/// The script that all pages share. It comes first.
const COMMON_SCRIPT: &str = include_str!("../page/common.js");

/// The scripts of pages of profiles, one subject in each file. They share one scope and run in this order. A view is a
/// file that calls `addView`; it must come before the last file.
const SCRIPTS: [&str; 20] = [
    COMMON_SCRIPT,
    include_str!("../page/data.js"),
    include_str!("../page/numbers.js"),
    include_str!("../page/names.js"),
    include_str!("../page/tree-model.js"),
    include_str!("../page/colours.js"),
    include_str!("../page/allocations.js"),
    include_str!("../page/layout.js"),
    include_str!("../page/views.js"),
    include_str!("../page/flame.js"),
    include_str!("../page/allocation-tables.js"),
    include_str!("../page/locks.js"),
    include_str!("../page/methods.js"),
    include_str!("../page/call-tree.js"),
    include_str!("../page/gc.js"),
    include_str!("../page/details.js"),
    include_str!("../page/export.js"),
    include_str!("../page/search.js"),
    include_str!("../page/state.js"),
    include_str!("../page/start.js"),
];

/// The bar of a page that follows a program, its style, and the scripts that run after all others.
const LIVE_BAR: &str = include_str!("../page/live.html");
const LIVE_STYLE: &str = include_str!("../page/live.css");
const LIVE_SCRIPTS: [&str; 2] = [
    include_str!("../page/replace.js"),
    include_str!("../page/live.js"),
];

/// Writes a page of profiles.
pub(super) fn fill_profile_page(data: &Value, out: &mut dyn Write) -> io::Result<()> {
    let pieces: [(&str, &str); 5] = [
        ("/*CONNECT*/", ""),
        ("/*STYLE*/", &[STYLE, GRAPH_STYLE].join("\n")),
        ("<!--LIVE-->\n", ""),
        ("/*DATA*/", &in_script(data)),
        ("/*SCRIPT*/", &SCRIPTS.concat()),
    ];
    put(PAGE, &pieces, out)
}

/// Writes a page that follows a program: it asks its server for newer [`page_data`](super::page_data), and has buttons
/// for orders. `state` is what the page shows until the first answer; `cli/src/serve` has its form.
///
/// # Errors
///
/// Fails if writing to `out` fails.
pub fn live_page(data: &Value, state: &Value, out: &mut dyn Write) -> io::Result<()> {
    let pieces: [(&str, &str); 5] = [
        ("/*CONNECT*/", "; connect-src 'self'"),
        ("/*STYLE*/", &[STYLE, GRAPH_STYLE, LIVE_STYLE].join("\n")),
        (
            "<!--LIVE-->",
            &LIVE_BAR.replace("/*STATE*/", &in_script(state)),
        ),
        ("/*DATA*/", &in_script(data)),
        (
            "/*SCRIPT*/",
            &[&SCRIPTS[..], &LIVE_SCRIPTS[..]].concat().concat(),
        ),
    ];
    put(PAGE, &pieces, out)
}

/// Writes an HTML page: replaces the placeholders in `page` by the common style, the common
/// script with `script` after it, and `data`.
///
/// # Errors
///
/// Fails if writing to `out` fails.
pub fn fill_page(page: &str, script: &str, data: &Value, out: &mut dyn Write) -> io::Result<()> {
    let pieces: [(&str, &str); 3] = [
        ("/*STYLE*/", STYLE),
        ("/*DATA*/", &in_script(data)),
        ("/*SCRIPT*/", &[COMMON_SCRIPT, script].concat()),
    ];
    put(page, &pieces, out)
}

/// Returns JSON for the inside of a script element. Only an end tag or the start of a comment could end the data there.
/// Both contain `<`, which JSON has only in strings, so it is escaped.
fn in_script(data: &Value) -> String {
    data.to_string().replace('<', "\\u003c")
}

/// Replaces the placeholders, which are in the same order in `page`.
fn put(page: &str, pieces: &[(&str, &str)], out: &mut dyn Write) -> io::Result<()> {
    // Each placeholder is searched for in our own file only, never in the data.
    let mut rest = page;
    for (place, piece) in pieces {
        let (before, after) = rest
            .split_once(place)
            .expect("the page has all placeholders");
        out.write_all(before.as_bytes())?;
        out.write_all(piece.as_bytes())?;
        rest = after;
    }
    out.write_all(rest.as_bytes())
}
