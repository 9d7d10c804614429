//! Target `rewrite`: rewrites a class and checks the result. It must be a class file whose tables
//! are consistent with its code, and which differs from the original only in code.

use std::collections::BTreeSet;

use loadhook_rewrite::class::Member;
use loadhook_rewrite::{ClassFile, CpIndex, Error, ErrorKind, Report, Rewriter};

use crate::code;
use crate::identity::{copy, same, used};
use crate::options::OptionSet;

/// Totals of rewriting one input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rewritten {
    /// Number of option sets under which the class was rewritten.
    pub classes: u32,
    /// Methods that got probes.
    pub instrumented: u32,
    /// Selected methods that stayed unchanged.
    pub left_alone: u32,
}

/// Rewrites `data` under each option set.
///
/// # Panics
/// When the output violates an invariant.
pub fn rewrite(data: &[u8]) -> Rewritten {
    Targets::default().rewrite(data, &OptionSet::EACH)
}

/// Rewrites `data` under one option set.
///
/// # Panics
/// Fails as [`rewrite()`] does.
pub fn rewrite_with(data: &[u8], set: OptionSet) -> Rewritten {
    Targets::default().rewrite(data, &[set])
}

/// Rewriters that are reused for many inputs. State that one class leaves behind must not affect
/// the next.
#[derive(Debug)]
pub struct Targets {
    rewriters: Vec<(OptionSet, Rewriter)>,
    /// The rewriter with default options, which keep unknown attributes.
    copier: Rewriter,
}

impl Default for Targets {
    fn default() -> Self {
        let rewriter = |set: OptionSet| (set, Rewriter::new(set.options()));
        Targets {
            rewriters: OptionSet::EACH.map(rewriter).into(),
            copier: Rewriter::default(),
        }
    }
}

impl Targets {
    /// Rewrites `data` under each of `sets`.
    ///
    /// # Panics
    /// Fails as [`rewrite()`] does.
    pub fn rewrite(&mut self, data: &[u8], sets: &[OptionSet]) -> Rewritten {
        let mut told = Rewritten::default();
        let parsed = ClassFile::parse(data);
        for (set, rewriter) in &mut self.rewriters {
            if !sets.contains(set) {
                continue;
            }
            let result = run(rewriter, data, *set);
            let class = match &parsed {
                Ok(class) => class,
                Err(error) => {
                    assert_eq!(
                        result.err().as_ref(),
                        Some(error),
                        "parser and rewriter report different errors"
                    );
                    continue;
                }
            };
            let output = result.unwrap_or_else(|error| {
                panic!("the parser reads the class, but the rewriter does not rewrite it: {error}")
            });
            told.instrumented += rewriter.report().instrumented;
            told.left_alone += rewriter.report().left_alone.len() as u32;
            match output {
                Some(output) => {
                    told.classes += 1;
                    check(class, &output, rewriter.report(), *set);
                    let again = copy(&mut self.copier, &output);
                    let again = again.unwrap_or_else(|error| {
                        panic!("the rewriter cannot copy its own output: {error}")
                    });
                    same(&output, again.as_deref().unwrap_or(&output));
                }
                None => assert_eq!(
                    rewriter.report().instrumented,
                    0,
                    "the class is unchanged, but the report has instrumented methods"
                ),
            }
        }
        told
    }

    /// Checks that a used rewriter and a new one have equal results.
    ///
    /// # Panics
    /// When the two results differ.
    pub fn reuse(&mut self, data: &[u8], set: OptionSet) {
        for (other, rewriter) in &mut self.rewriters {
            if *other == set {
                let used = run(rewriter, data, set);
                let mut fresh = Rewriter::new(set.options());
                assert_eq!(
                    used,
                    run(&mut fresh, data, set),
                    "a used rewriter and a new one have different results"
                );
                assert_eq!(
                    rewriter.report(),
                    fresh.report(),
                    "a used rewriter and a new one have different reports"
                );
            }
        }
    }

    /// Checks that the rewriter returns an error if the allocator fails or returns a buffer of
    /// another length.
    ///
    /// # Panics
    /// When the rewriter returns no error.
    pub fn refused_buffers(&mut self, data: &[u8]) {
        for (set, rewriter) in &mut self.rewriters {
            for wrong in [None, Some(1_usize), Some(0)] {
                let mut asked = None;
                let result = rewriter.rewrite(data, &mut set.selector(), |len| {
                    asked = Some(len);
                    wrong.map(|more| vec![0; if more == 0 { len - 1 } else { len + more }])
                });
                let (Some(len), Err(error)) = (asked, &result) else {
                    assert!(
                        asked.is_none(),
                        "the allocator refused the buffer, but the rewriter returned {result:?}"
                    );
                    continue;
                };
                assert_eq!(*error.kind(), ErrorKind::Allocation { len });
            }
        }
    }
}

/// Rewrites a class; `None` when there is nothing to do. Checks the calls of the allocator.
fn run(rewriter: &mut Rewriter, data: &[u8], set: OptionSet) -> Result<Option<Vec<u8>>, Error> {
    let mut asked = None;
    let outcome = rewriter.rewrite(data, &mut set.selector(), |len| {
        asked = Some(len);
        Some(vec![0xAA; len])
    })?;
    Ok(used(outcome, asked))
}

/// Checks all invariants between a class and its rewritten form.
fn check(old: &ClassFile<'_>, output: &[u8], report: &Report, set: OptionSet) {
    let new = ClassFile::parse(output)
        .unwrap_or_else(|error| panic!("the parser does not read the rewriter's output: {error}"));
    frame_of_the_class(old, &new);
    pools(old, &new);
    let old_fields: Vec<_> = old.fields().collect();
    let new_fields: Vec<_> = new.fields().collect();
    assert_eq!(
        old_fields.len(),
        new_fields.len(),
        "the number of fields changed"
    );
    for (old, new) in old_fields.iter().zip(&new_fields) {
        member(old, new);
    }

    assert_eq!(
        old.methods().len(),
        new.methods().len(),
        "the number of methods changed"
    );
    let left_alone: BTreeSet<u16> = report.left_alone.iter().map(|it| it.method).collect();
    let (mut with_code, mut changed) = (0, 0);
    for (old, new) in old.methods().zip(new.methods()) {
        let differs = member(&old, &new);
        with_code += u32::from(old.has_code());
        if differs {
            changed += 1;
            let method = old.index();
            assert!(
                !left_alone.contains(&method),
                "method {method} changed, although the report says that it was left alone"
            );
            code::check(&old, &new, set);
        }
    }
    assert_eq!(
        report.with_code, with_code,
        "the report has a wrong number of methods with code"
    );
    assert_eq!(
        report.instrumented, changed,
        "the report has a wrong number of instrumented methods"
    );
    for uncovered in &report.uncovered {
        let method = old.methods().nth(usize::from(uncovered.method));
        assert_eq!(method.map(|it| it.name()), Some(&b"<init>"[..]));
        assert!(
            uncovered.instructions > 0,
            "the report names a method with 0 uncovered instructions"
        );
    }
}

fn frame_of_the_class(old: &ClassFile<'_>, new: &ClassFile<'_>) {
    assert_eq!(old.major_version(), new.major_version());
    assert_eq!(old.minor_version(), new.minor_version());
    assert_eq!(old.access_flags(), new.access_flags());
    assert_eq!(old.name(), new.name());
    assert_eq!(old.super_name(), new.super_name());
    assert!(
        old.interfaces().eq(new.interfaces()),
        "the interfaces changed"
    );
    let (mut old, mut new) = (old.attributes(), new.attributes());
    loop {
        match (old.next(), new.next()) {
            (None, None) => break,
            (Some(Ok(old)), Some(Ok(new))) => {
                assert_eq!(
                    old.name_index, new.name_index,
                    "the name of a class attribute changed"
                );
                assert!(
                    old.info == new.info,
                    "the content of a class attribute changed"
                );
            }
            other => panic!("the class attributes changed: {other:?}"),
        }
    }
}

/// Checks that old constants keep index and bytes, and that new ones follow.
fn pools(old: &ClassFile<'_>, new: &ClassFile<'_>) {
    let (old_bytes, new_bytes) = (old.bytes(), new.bytes());
    let (old, new) = (old.pool(), new.pool());
    assert!(
        old.count() <= new.count(),
        "the new pool has fewer constants than the old"
    );
    let kept = old.end();
    assert!(
        new.end() >= kept,
        "the new pool has fewer bytes than the old"
    );
    assert!(
        old_bytes[10..kept] == new_bytes[10..kept],
        "the bytes of old constants changed"
    );
    // Every new constant, and the constants that it refers to, are valid.
    for index in (old.count()..new.count()).map(CpIndex) {
        let error = match new.get(index) {
            Ok(loadhook_rewrite::constant_pool::Constant::Class { .. }) => {
                new.class_name(index).err()
            }
            Ok(loadhook_rewrite::constant_pool::Constant::NameAndType { .. }) => {
                new.name_and_type(index).err()
            }
            Ok(loadhook_rewrite::constant_pool::Constant::Methodref { class, .. }) => {
                new.member(index).err().or(new.class_name(class).err())
            }
            Ok(_) => None,
            Err(error) => Some(error),
        };
        assert_eq!(error, None, "the new constant #{index} is not valid");
    }
}

/// Compares two members except for their `Code`. Returns whether the `Code` differs.
fn member(old: &Member<'_, '_>, new: &Member<'_, '_>) -> bool {
    assert_eq!(old.access_flags(), new.access_flags());
    assert_eq!(old.name(), new.name());
    assert_eq!(old.descriptor(), new.descriptor());
    assert_eq!(old.has_code(), new.has_code());
    let mut differs = false;
    let pool = old.class().pool();
    let (mut old, mut new) = (old.attributes(), new.attributes());
    loop {
        match (old.next(), new.next()) {
            (None, None) => return differs,
            (Some(Ok(old)), Some(Ok(new))) => {
                assert_eq!(
                    old.name_index, new.name_index,
                    "the name of a member's attribute changed"
                );
                if old.info != new.info {
                    let name = pool.utf8(old.name_index);
                    assert_eq!(
                        name,
                        Ok(&b"Code"[..]),
                        "an attribute other than Code changed"
                    );
                    differs = true;
                }
            }
            other => panic!("the attributes of a member changed: {other:?}"),
        }
    }
}
