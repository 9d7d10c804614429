//! A class in, an instrumented class out.

use crate::class::{ClassFile, Storage};
use crate::error::{Error, ErrorKind, Place, Result};
use crate::method::{Context, MethodPlanner};
use crate::never;
use crate::options::Options;
use crate::outcome::{LeftAlone, Outcome, Reason, Report, Uncovered};
use crate::probe::ProbeWriter;
use crate::selector::{Probes, Selector};

/// A part of the output: bytes of the class as it was up to `original_end`,
/// then the planned bytes up to `planned_end`. Parts lie one behind the other
/// in both.
#[derive(Clone, Copy, Debug)]
struct Piece {
    original_end: usize,
    planned_end: usize,
    /// Where the original goes on behind the planned bytes.
    original_next: usize,
}

/// Instruments classes; keep one per thread and use it for many, since its
/// buffers are reused.
///
/// A call has two phases. *Plan* reads the class in place, asks the
/// [`Selector`] and writes the code of instrumented methods, and only that,
/// into a buffer of the rewriter's; so the output's length is known. *Emit*
/// fills a buffer of exactly that length, which the caller's allocator gives,
/// front to back.
#[derive(Debug, Default)]
pub struct Rewriter {
    options: Options,
    storage: Storage,
    writer: ProbeWriter,
    planner: MethodPlanner,
    planned: Vec<u8>,
    pieces: Vec<Piece>,
    report: Report,
}

/// Whether methods without probes are written anew.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Force {
    No,
    Yes,
}

impl Rewriter {
    /// A rewriter with these options.
    pub fn new(options: Options) -> Self {
        Rewriter {
            options,
            ..Rewriter::default()
        }
    }

    /// The options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The options, to be changed between classes: a class number, say.
    pub fn options_mut(&mut self) -> &mut Options {
        &mut self.options
    }

    /// What happened to the methods of the class rewritten last.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Inserts the probes that `selector` chooses into `class`.
    ///
    /// `allocate` is called at most once, with the output's length in bytes,
    /// and gives a buffer of that length: from the VM in an agent, a `Vec`
    /// elsewhere. It is not called for [`Outcome::Unchanged`].
    ///
    /// # Errors
    /// When `class` is not a readable class file, a name in the options is no
    /// name, or there is no buffer. A
    /// method that cannot be instrumented is no error: it stays as it was
    /// and [`Rewriter::report`] says why.
    pub fn rewrite<B: AsMut<[u8]>>(
        &mut self,
        class: &[u8],
        selector: &mut dyn Selector,
        allocate: impl FnOnce(usize) -> Option<B>,
    ) -> Result<Outcome<B>> {
        self.run(class, selector, Force::No, allocate)
    }

    /// Passes every method of `class` through planner and emitter without a
    /// probe. The result equals `class`; that it does, for every class there
    /// is, is a test of the rewriter.
    ///
    /// # Errors
    /// As [`Rewriter::rewrite`].
    pub fn copy<B: AsMut<[u8]>>(
        &mut self,
        class: &[u8],
        allocate: impl FnOnce(usize) -> Option<B>,
    ) -> Result<Outcome<B>> {
        struct Nothing;
        impl Selector for Nothing {
            fn method(&mut self, _: &crate::class::Member<'_, '_>) -> Probes {
                Probes::default()
            }
        }
        self.run(class, &mut Nothing, Force::Yes, allocate)
    }

    fn run<B: AsMut<[u8]>>(
        &mut self,
        bytes: &[u8],
        selector: &mut dyn Selector,
        force: Force,
        allocate: impl FnOnce(usize) -> Option<B>,
    ) -> Result<Outcome<B>> {
        self.report.clear();
        self.options
            .check()
            .map_err(|name| Error::new(ErrorKind::BadOption(name), 0, Place::In("options")))?;
        let class = ClassFile::parse_with(bytes, std::mem::take(&mut self.storage))?;
        self.plan(&class, selector, force);
        let outcome = if self.pieces.len() > 1 {
            self.emit(bytes, allocate).map(Outcome::Rewritten)
        } else {
            Ok(Outcome::Unchanged)
        };
        self.storage = class.into_storage();
        outcome
    }

    /// Fills `pieces` and `planned`. One piece, that of the constant pool,
    /// means that nothing is to be done.
    fn plan(&mut self, class: &ClassFile<'_>, selector: &mut dyn Selector, force: Force) {
        self.pieces.clear();
        self.planned.clear();
        self.writer.begin_class(class.pool().count());
        self.planner.begin_class();
        let is_tracker = self.options.is_tracker(class.name());
        let wanted = force == Force::Yes || selector.class(class);
        self.pieces.push(Piece {
            original_end: class.pool().end(),
            planned_end: 0,
            original_next: class.pool().end(),
        });
        for index in 0..class.methods().len() {
            let Some(method) = class.method(index) else {
                break;
            };
            if !method.has_code() {
                continue;
            }
            self.report.with_code += 1;
            if !wanted {
                continue;
            }
            let mut probes = Probes::default();
            if force == Force::No {
                if !selector.wants(&method) {
                    continue;
                }
                let never = match is_tracker {
                    true => Some(Reason::Tracker),
                    false => never::reason(&method),
                };
                // An intrinsic by name only: its body is compiled, as a part
                // of every constructor there is. Its calls are not counted,
                // but it may pass on the object.
                let only_objects = never.is_some() && method.is_object_init();
                if let Some(reason) = never {
                    self.leave_alone(index, reason);
                    if !only_objects {
                        continue;
                    }
                }
                probes = selector.method(&method);
                if only_objects {
                    probes = Probes {
                        objects: probes.objects,
                        ..Probes::default()
                    };
                }
                if probes.is_none() {
                    continue;
                }
            }
            let code = match method.code() {
                Ok(Some(code)) => code,
                Ok(None) => continue,
                Err(error) => {
                    self.leave_alone(index, Reason::Unreadable(error));
                    continue;
                }
            };
            let mut context = Context {
                options: &self.options,
                writer: &mut self.writer,
                selector,
            };
            let start = self.planned.len();
            let planned =
                self.planner
                    .plan(&method, &code, probes, &mut context, &mut self.planned);
            match planned {
                Ok(planned) => {
                    if !planned.inserts && force == Force::No {
                        // Only allocation probes were asked for, and the
                        // method allocates nothing.
                        self.planned.truncate(start);
                        continue;
                    }
                    self.report.instrumented += 1;
                    if planned.uncovered != 0 {
                        self.report.uncovered.push(Uncovered {
                            method: index as u16,
                            instructions: planned.uncovered,
                        });
                    }
                    self.pieces.push(Piece {
                        original_end: code.offset,
                        planned_end: self.planned.len(),
                        original_next: code.end,
                    });
                }
                Err(reason) => self.leave_alone(index, reason),
            }
        }
    }

    fn leave_alone(&mut self, method: usize, reason: Reason) {
        self.report.left_alone.push(LeftAlone {
            method: method as u16,
            reason,
        });
    }

    fn emit<B: AsMut<[u8]>>(
        &self,
        class: &[u8],
        allocate: impl FnOnce(usize) -> Option<B>,
    ) -> Result<B> {
        let replaced: usize = self
            .pieces
            .iter()
            .map(|piece| piece.original_next - piece.original_end)
            .sum();
        let additions = self.writer.pool.bytes();
        let len = class.len() - replaced + self.planned.len() + additions.len();
        let no_buffer = || Error::new(ErrorKind::Allocation { len }, 0, Place::Class);
        let mut buffer = allocate(len).ok_or_else(no_buffer)?;
        let bytes = buffer.as_mut();
        if bytes.len() != len {
            return Err(no_buffer());
        }
        let mut out = Output { rest: bytes };
        // magic and versions, constant_pool_count, the old constants.
        let (mut original, mut planned) = (10, 0);
        out.put(bytes_between(class, 0, 8));
        out.put(&self.writer.pool.count().to_be_bytes());
        for (i, piece) in self.pieces.iter().enumerate() {
            out.put(bytes_between(class, original, piece.original_end));
            if i == 0 {
                out.put(additions);
            }
            out.put(bytes_between(&self.planned, planned, piece.planned_end));
            (original, planned) = (piece.original_next, piece.planned_end);
        }
        out.put(bytes_between(class, original, class.len()));
        // Never, unless planner and emitter disagree; then better no class.
        if !out.rest.is_empty() {
            return Err(no_buffer());
        }
        Ok(buffer)
    }
}

#[inline]
fn bytes_between(bytes: &[u8], start: usize, end: usize) -> &[u8] {
    bytes.get(start..end).unwrap_or_default()
}

/// Fills a buffer front to back.
struct Output<'b> {
    rest: &'b mut [u8],
}

impl Output<'_> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        let rest = std::mem::take(&mut self.rest);
        if let Some((place, rest)) = rest.split_at_mut_checked(bytes.len()) {
            place.copy_from_slice(bytes);
            self.rest = rest;
        }
    }
}
