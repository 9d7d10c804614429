//! The objects of a heap walk whose `OBJECT_ALLOC` the calling thread has yet to send.
//!
//! While a thread sends these events, other events can come on the same thread: linking a class may load others, and
//! the JVM may run Java code for that. Such an event may name an object whose turn has not come. Its definition is then
//! sent early, and not again later.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::rc::Rc;

use loadhook_jvm::heap_walk::NewlyTagged;

use crate::abi::ObjectId;

thread_local! {
    /// The walks of this thread, the innermost last.
    static WALKS: RefCell<Vec<Walk>> = const { RefCell::new(Vec::new()) };
    /// The length of [`WALKS`]. It can also be read when a thread ends and [`WALKS`] is gone.
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

struct Walk {
    /// In the order of their tags.
    objects: Rc<[NewlyTagged]>,
    /// Number of objects whose turn has come.
    passed: usize,
    /// The places of later objects whose definition was sent early.
    early: HashSet<usize>,
}

impl Walk {
    fn take(&mut self, id: ObjectId) -> bool {
        let found = self
            .objects
            .binary_search_by_key(&(id as i64), |object| object.tag);
        found.is_ok_and(|place| place >= self.passed && self.early.insert(place))
    }
}

/// Notes the objects of a walk as unsent, until this value is dropped.
pub(super) struct Unsent(());

/// Notes objects, which are in the order of their tags, as unsent by the calling thread.
pub(super) fn begin(objects: Rc<[NewlyTagged]>) -> Unsent {
    WALKS.with_borrow_mut(|walks| {
        walks.push(Walk {
            objects,
            passed: 0,
            early: HashSet::new(),
        });
        COUNT.set(walks.len());
    });
    Unsent(())
}

impl Unsent {
    /// Notes that the turn of the object at this place has passed.
    pub(super) fn pass(&mut self, place: usize) {
        WALKS.with_borrow_mut(|walks| {
            if let Some(walk) = walks.last_mut() {
                walk.passed = place + 1;
                walk.early.remove(&place);
            }
        });
    }
}

impl Drop for Unsent {
    fn drop(&mut self) {
        WALKS.with_borrow_mut(|walks| {
            walks.pop();
            COUNT.set(walks.len());
        });
    }
}

/// Returns whether this thread has yet to send the definition of `id`. It then counts as sent, so the caller must send
/// it.
pub(super) fn take(id: ObjectId) -> bool {
    COUNT.get() != 0 && WALKS.with_borrow_mut(|walks| walks.iter_mut().any(|walk| walk.take(id)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects(tags: &[i64]) -> Rc<[NewlyTagged]> {
        let object = |tag: &i64| NewlyTagged {
            tag: *tag,
            class_tag: 0,
            size: 16,
        };
        tags.iter().map(object).collect()
    }

    #[test]
    fn each_object_is_sent_once() {
        let mut unsent = begin(objects(&[16, 48, 64, 80]));
        assert!(take(64) && !take(64));
        assert!(take(16));
        unsent.pass(0);
        // Objects that have passed, and ids of other objects.
        assert!(!take(16) && !take(32) && !take(96));
        {
            let _inner = begin(objects(&[112]));
            assert!(take(48) && take(112));
        }
        assert!(!take(112));
        unsent.pass(1);
        unsent.pass(2);
        assert!(!take(64) && take(80));
        drop(unsent);
        assert!(!take(80));
    }

    #[test]
    fn another_thread_does_not_send_them() {
        let _unsent = begin(objects(&[16]));
        let other = std::thread::spawn(|| take(16));
        assert!(!other.join().expect("the other thread"));
    }
}
