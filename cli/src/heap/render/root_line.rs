//! The line about the root of a path.

use loadhook_heap::RootKind;
use loadhook_text::printable;
use unicode_width::UnicodeWidthStr;

use super::super::views::root_reason::RootReason;
use super::object_line::{ObjectLine, place, place_within};

/// Returns the line `root: variable of thread "main" 0x7f00 in Main.main(Main.java:7)`. The frame
/// gets a line of its own if root and frame together are wider than `width`.
pub(in crate::heap) fn root_line(reason: &RootReason, width: usize) -> String {
    let (Some(root), Some(thread)) = (&reason.root, &reason.thread) else {
        return format!("root: {}", reason.kind());
    };
    let what = match root.kind {
        RootKind::ThreadObject => "root: ".to_owned(),
        RootKind::JavaFrame => "root: variable of ".to_owned(),
        _ => format!("root: {} of ", reason.kind()),
    };
    let thread = ObjectLine::owner(thread);
    let place = reason.frame().map(place);
    let place = place.map_or(String::new(), |place| format!(" in {place}"));
    let whole = format!("{what}{}{place}", thread.text());
    let whole = printable(&whole);
    if whole.width() <= width {
        return whole.into_owned();
    }
    let within = |before: &str| width.saturating_sub(before.width());
    let thread = thread.within(within(&what));
    let below = "\n      in ";
    let place = reason.frame().map_or(String::new(), |frame| {
        let place = place_within(frame, within(below.trim_start_matches('\n')));
        format!("{below}{place}")
    });
    format!("{what}{thread}{place}")
}
