//! Target `identity`: a class that can be read is copied byte for byte.

use std::cell::RefCell;

use loadhook_rewrite::{ClassFile, Outcome, Rewriter};

thread_local! {
    /// The rewriter is reused for all inputs: if one class left state behind, the next result would be wrong.
    static REWRITER: RefCell<Rewriter> = RefCell::default();
}

/// Rewrites `data` without adding a probe: the planner and emitter run, and must return the same
/// bytes.
///
/// # Panics
/// When the result differs from `data`, or only one of parser and rewriter accepts `data`.
pub fn identity(data: &[u8]) {
    let parsed = ClassFile::parse(data).map(drop);
    let copied = REWRITER.with_borrow_mut(|rewriter| copy(rewriter, data));
    match (parsed, copied) {
        (Ok(()), Ok(None)) => {}
        (Ok(()), Ok(Some(copy))) => same(data, &copy),
        (Err(_), Err(_)) => {}
        (Ok(()), Err(error)) => {
            panic!("the parser reads the class, but the rewriter does not copy it: {error}")
        }
        (Err(error), Ok(_)) => {
            panic!("the rewriter copies the class, but the parser does not read it: {error}")
        }
    }
}

/// Returns the bytes of a rewriter's result. Checks that the rewriter allocated a buffer of exactly
/// the result's length (`asked`), or no buffer if there was nothing to do.
pub(crate) fn used(outcome: Outcome<Vec<u8>>, asked: Option<usize>) -> Option<Vec<u8>> {
    match outcome {
        Outcome::Unchanged => {
            assert_eq!(asked, None, "a buffer was allocated but not used");
            None
        }
        Outcome::Rewritten(output) => {
            assert_eq!(
                asked,
                Some(output.len()),
                "the buffer has another length than the result"
            );
            Some(output)
        }
    }
}

/// Copies a class; `None` when there is nothing to do. Checks the calls of the allocator.
pub(crate) fn copy(
    rewriter: &mut Rewriter,
    data: &[u8],
) -> Result<Option<Vec<u8>>, loadhook_rewrite::Error> {
    let mut asked = None;
    let outcome = rewriter.copy(data, |len| {
        asked = Some(len);
        Some(vec![0xAA; len])
    })?;
    Ok(used(outcome, asked))
}

/// Fails with the first byte that differs.
pub(crate) fn same(data: &[u8], copy: &[u8]) {
    assert_eq!(
        data.len(),
        copy.len(),
        "the lengths of original and copy differ"
    );
    let difference = data.iter().zip(copy).position(|(a, b)| a != b);
    assert_eq!(difference, None, "the copy differs from this offset on");
}
