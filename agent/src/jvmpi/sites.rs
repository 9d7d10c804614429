//! Keeps the sites that allocate. A site is a thread with the frames on its stack.

use std::collections::HashMap;
use std::sync::Arc;

use loadhook_profile::Frame;
use loadhook_profile::gc_events::SiteId;

use super::events::ThreadId;
use crate::frames::numbers::Numbers;

/// The site of objects that are not shown: objects made before the JVM was initialised, objects of the tracker, and
/// objects for whose site there was no room.
pub(super) const NOT_SHOWN: SiteId = SiteId(0);

/// The maximum number of different thread names. Threads with further names are shown as one thread.
const MOST_THREADS: usize = 10_000;

/// The threads, frames and sites so far.
pub(super) struct Sites {
    /// Maximum number of frames, and also of sites.
    most: usize,
    /// For each live thread, the number of its name.
    threads: HashMap<ThreadId, u32>,
    names: Numbers<Arc<str>>,
    /// The frames. Their methods are indexes of [`Classes`](super::classes::Classes).
    frames: Numbers<Frame>,
    /// The sites. A pair has the number of the thread's name, and the innermost frame. The index of a site is its
    /// number minus 1.
    sites: Numbers<(u32, Option<u32>)>,
    /// Number of objects for which there was no room: either for the site, or for a frame of the stack.
    pub(super) without_room: u64,
}

impl Sites {
    pub(super) fn new(most: usize) -> Self {
        let mut names = Numbers::default();
        names.number("(other threads)".into(), MOST_THREADS);
        Sites {
            most,
            threads: HashMap::new(),
            names,
            frames: Numbers::default(),
            sites: Numbers::default(),
            without_room: 0,
        }
    }

    pub(super) fn thread_starts(&mut self, thread: ThreadId, name: String) {
        let name = self.names.number(name.into(), MOST_THREADS).unwrap_or(0);
        self.threads.insert(thread, name);
    }

    pub(super) fn thread_ends(&mut self, thread: ThreadId) {
        self.threads.remove(&thread);
    }

    pub(super) fn knows_thread(&self, thread: ThreadId) -> bool {
        self.threads.contains_key(&thread)
    }

    /// Finds or makes the site of a stack. The frames are pairs of a method and a line, innermost first.
    pub(super) fn site(
        &mut self,
        thread: ThreadId,
        stack: impl DoubleEndedIterator<Item = (u32, Option<u32>)>,
    ) -> SiteId {
        let name = self.threads.get(&thread).copied().unwrap_or(0);
        let mut innermost = None;
        let mut has_room = true;
        for (method, line) in stack.rev() {
            let frame = Frame {
                parent: innermost,
                method,
                line,
                // The offset is left out, because the code may have been rewritten.
                bci: None,
            };
            match self.frames.number(frame, self.most) {
                Some(number) => innermost = Some(number),
                None => {
                    has_room = false;
                    break;
                }
            }
        }
        let site = self.sites.number((name, innermost), self.most);
        self.without_room += u64::from(!has_room || site.is_none());
        site.map_or(NOT_SHOWN, |number| SiteId(number + 1))
    }

    /// Returns the name of a site's thread, and the innermost frame of the site; `None` for [`NOT_SHOWN`].
    pub(super) fn place(&self, site: SiteId) -> Option<(&Arc<str>, Option<u32>)> {
        let (name, frame) = self.sites.all().get(site.0.checked_sub(1)? as usize)?;
        Some((self.names.all().get(*name as usize)?, *frame))
    }

    pub(super) fn frames(&self) -> &[Frame] {
        self.frames.all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_share_their_outer_frames() {
        let mut sites = Sites::new(3);
        let thread = ThreadId(8);
        sites.thread_starts(thread, "main".to_owned());
        let inner = sites.site(thread, [(7, Some(70)), (5, None)].into_iter());
        let outer = sites.site(thread, [(5, None)].into_iter());
        assert_ne!(inner, outer);
        assert_eq!(sites.frames().len(), 2);
        assert_eq!(
            sites.site(thread, [(7, Some(70)), (5, None)].into_iter()),
            inner
        );
        let (name, frame) = sites.place(inner).expect("a site");
        assert_eq!((&**name, frame), ("main", Some(1)));
        sites.thread_ends(thread);
        assert!(!sites.knows_thread(thread));
        let other = sites.site(thread, std::iter::empty());
        assert_eq!(
            sites.place(other).map(|(name, frame)| (&**name, frame)),
            Some(("(other threads)", None))
        );
        // There is no room for a fourth site.
        assert_eq!(sites.site(thread, [(5, None)].into_iter()), NOT_SHOWN);
        assert_eq!((sites.place(NOT_SHOWN), sites.without_room), (None, 1));
    }
}
