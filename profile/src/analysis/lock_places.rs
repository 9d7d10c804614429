//! Waits for locks by place in the code and class.

use std::collections::HashMap;

use super::options::{Options, Sort};
use crate::model::{LockWait, Locks, Method, Profile, WaitKind};

/// A method, as an index into [`Profile::methods`], and its line; `None` if no Java method was
/// running.
pub(crate) type CodePlace = Option<(u32, Option<u32>)>;

/// Waits of one kind at one place in the code, for objects of one class, in all threads and calling contexts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LockPlace<'p> {
    pub(crate) kind: WaitKind,
    pub(crate) class: &'p str,
    pub(crate) place: CodePlace,
    pub(crate) sum: WaitSum,
    /// The sums of the waits whose holder is known. The key is the holder's place and the name of
    /// its thread.
    pub(crate) holders: HashMap<(CodePlace, &'p str), WaitSum>,
}

/// The number of waits, and their time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct WaitSum {
    pub(crate) count: u64,
    pub(crate) ns: u64,
}

impl WaitSum {
    pub(crate) fn add(&mut self, count: u64, ns: u64) {
        self.count = self.count.saturating_add(count);
        self.ns = self.ns.saturating_add(ns);
    }
}

/// Returns the waits in the threads and methods that the options choose.
pub(crate) fn chosen_waits<'a>(
    profile: &'a Profile,
    locks: &'a Locks,
    options: &Options<'_>,
) -> impl Iterator<Item = &'a LockWait> {
    locks.waits.iter().filter(move |wait| {
        let thread = &profile.threads[wait.thread as usize].name;
        let is_focused = options.focus.is_none_or(|focus| {
            let mut frames = locks.path(wait.frame);
            frames.any(|frame| focus(&profile.methods[frame.method as usize]))
                || focus(&Method::of_type(&wait.class))
        });
        is_focused && options.thread.is_none_or(|wanted| wanted(thread))
    })
}

/// Returns the places of waits that the options choose, the longest first, or with [`Sort::Calls`] the most frequent.
pub(crate) fn lock_places<'p>(
    profile: &'p Profile,
    locks: &'p Locks,
    options: &'p Options<'_>,
) -> Vec<LockPlace<'p>> {
    let mut known: HashMap<(WaitKind, &str, CodePlace), usize> = HashMap::new();
    let mut places: Vec<LockPlace<'p>> = Vec::new();
    let innermost = |frame: Option<u32>| {
        let frame = locks.path(frame).next();
        frame.map(|frame| (frame.method, frame.line))
    };
    for wait in chosen_waits(profile, locks, options) {
        let place = innermost(wait.frame);
        let at = *known
            .entry((wait.kind, &wait.class, place))
            .or_insert_with(|| {
                places.push(LockPlace {
                    kind: wait.kind,
                    class: &wait.class,
                    place,
                    sum: WaitSum::default(),
                    holders: HashMap::new(),
                });
                places.len() - 1
            });
        let row = &mut places[at];
        row.sum.add(wait.count, wait.ns);
        if let Some(holder) = &wait.holder {
            let key = (innermost(holder.frame), &*holder.thread);
            row.holders.entry(key).or_default().add(wait.count, wait.ns);
        }
    }
    let by_count = options.sort == Sort::Calls;
    places.sort_by(|a, b| {
        let key = |row: &LockPlace<'p>| (by_count.then_some(row.sum.count), row.sum.ns);
        let names = |row: &LockPlace<'p>| (row.kind, row.class, row.place);
        key(b).cmp(&key(a)).then_with(|| names(a).cmp(&names(b)))
    });
    places
}
