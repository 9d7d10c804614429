//! The page's table of locks: the places where threads waited, and the holders of the locks.

use serde_json::{Value, json};

use crate::analysis::lock_places::{CodePlace, LockPlace, WaitSum, lock_places};
use crate::analysis::options::Options;
use crate::model::{Locks, Profile};

/// Maximum number of rows. They take about 1 MB.
const MOST_ROWS: usize = 10_000;

/// Returns the rows of the table, the longest waits first.
pub(super) fn data(profile: &Profile, locks: &Locks, options: &Options<'_>) -> Value {
    let place = |place: CodePlace| {
        let (method, line) = place.unzip();
        json!({ "method": method.map_or(-1, i64::from), "line": line.flatten() })
    };
    let row = |row: &LockPlace<'_>| {
        let mut holders: Vec<_> = row.holders.iter().collect();
        holders.sort_by_key(|(holder, sum)| (std::cmp::Reverse(sum.ns), **holder));
        let holder = |((at, thread), sum): &(&(CodePlace, &str), &WaitSum)| json!({ "thread": thread, "at": place(*at), "count": sum.count });
        json!({
            "kind": row.kind.as_str(),
            "class": row.class,
            "at": place(row.place),
            "count": row.sum.count,
            "ns": row.sum.ns,
            "holders": holders.iter().map(holder).collect::<Vec<_>>(),
        })
    };
    let places = lock_places(profile, locks, options);
    places.iter().take(MOST_ROWS).map(row).collect()
}
