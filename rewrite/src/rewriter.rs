//! The rewriter: takes a class and returns an instrumented class.

use crate::class::{ClassFile, Member, Storage};
use crate::error::{Error, ErrorKind, Result, Structure};
use crate::method::{Context, MethodPlanner};
use crate::never;
use crate::options::Options;
use crate::outcome::{LeftAlone, Outcome, Reason, Report, Uncovered};
use crate::probe::ProbeWriter;
use crate::selector::{Probes, Selector};

/// A piece of the output: bytes of the original class up to `original_end`, then planned bytes up to
/// `planned_end`. The next piece begins at `original_next` in the original class and at `planned_end` in the
/// planned bytes.
#[derive(Clone, Copy, Debug)]
struct Piece {
    original_end: usize,
    planned_end: usize,
    /// The offset in the original class from which the next piece continues.
    original_next: usize,
}

/// Instruments classes. Keep one rewriter for each thread and use it for many classes, because its buffers are
/// reused.
///
/// [`Rewriter::rewrite`] has two phases. *Plan* reads the class in place, calls the [`Selector`],
/// and writes only the code of instrumented methods into a buffer of the rewriter. After that, the
/// length of the output is known. *Emit* fills a buffer of exactly that length from front to back;
/// the caller's allocator returns the buffer.
#[derive(Debug, Default)]
pub struct Rewriter {
    options: Options,
    /// True if the options were checked. The check costs a fifteenth of the time of an average class, so it runs
    /// once.
    options_are_checked: bool,
    storage: Storage,
    writer: ProbeWriter,
    planner: MethodPlanner,
    planned: Vec<u8>,
    pieces: Vec<Piece>,
    report: Report,
}

/// The methods that are planned.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// The methods to which the selector gives probes.
    Instrument,
    /// All methods with code, without a probe.
    Copy,
}

impl Rewriter {
    /// Creates a rewriter with these options. [`Rewriter::rewrite`] checks them.
    pub fn new(options: Options) -> Self {
        Rewriter {
            options,
            ..Rewriter::default()
        }
    }

    /// Returns the options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Returns the options, so that they can be changed between classes: the class number of
    /// [`CallShape::ClassAndMethod`](crate::CallShape), for example.
    pub fn options_mut(&mut self) -> &mut Options {
        self.options_are_checked = false;
        &mut self.options
    }

    /// Returns the report on the methods of the class that was rewritten last.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Takes the report on the methods of the class that was rewritten last, and
    /// leaves an empty one.
    pub fn take_report(&mut self) -> Report {
        std::mem::take(&mut self.report)
    }

    /// Inserts the probes that `selector` chooses into `class`.
    ///
    /// `allocate` is called at most once, with the length of the output in bytes,
    /// and returns a buffer of that length: memory of the VM in an agent, a `Vec`
    /// elsewhere. It is not called for [`Outcome::Unchanged`].
    ///
    /// # Errors
    /// When `class` is not a readable class file, when the options are wrong, or when there is no buffer. A method that
    /// cannot be instrumented is not an error: it stays unchanged, and [`Rewriter::report`] has the reason.
    pub fn rewrite<B: AsMut<[u8]>>(
        &mut self,
        class: &[u8],
        selector: &mut dyn Selector,
        allocate: impl FnOnce(usize) -> Option<B>,
    ) -> Result<Outcome<B>> {
        self.run(class, selector, Mode::Instrument, allocate)
    }

    /// Plans and emits every method of `class` without a probe. The result equals `class` byte for byte, so this
    /// tests the rewriter on any class.
    ///
    /// # Errors
    /// Fails as [`Rewriter::rewrite`] does.
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
        self.run(class, &mut Nothing, Mode::Copy, allocate)
    }

    fn run<B: AsMut<[u8]>>(
        &mut self,
        bytes: &[u8],
        selector: &mut dyn Selector,
        mode: Mode,
        allocate: impl FnOnce(usize) -> Option<B>,
    ) -> Result<Outcome<B>> {
        self.report.clear();
        if !self.options_are_checked {
            self.options.check().map_err(|name| {
                Error::new(ErrorKind::BadOption(name), 0, Structure::Named("options"))
            })?;
            self.options_are_checked = true;
        }
        let class = ClassFile::parse_with(bytes, std::mem::take(&mut self.storage))?;
        self.plan(&class, selector, mode);
        let outcome = if self.pieces.len() > 1 {
            self.emit(bytes, allocate).map(Outcome::Rewritten)
        } else {
            Ok(Outcome::Unchanged)
        };
        self.storage = class.into_storage();
        outcome
    }

    /// Fills `pieces` and `planned`. The class needs no change if the piece with the constant pool is the only
    /// one.
    fn plan(&mut self, class: &ClassFile<'_>, selector: &mut dyn Selector, mode: Mode) {
        self.pieces.clear();
        self.planned.clear();
        self.writer.begin_class(class.pool().count());
        self.planner.begin_class();
        let is_tracker = self.options.is_tracker(class.name());
        let wanted = mode == Mode::Copy || selector.class(class);
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
            let probes = match mode {
                Mode::Copy => Probes::default(),
                Mode::Instrument => match self.choose(&method, is_tracker, selector) {
                    Some(probes) => probes,
                    None => continue,
                },
            };
            self.plan_method(&method, probes, selector, mode);
        }
    }

    /// Gets the probes of `method` from `selector`; returns `None` if there are none.
    fn choose(
        &mut self,
        method: &Member<'_, '_>,
        is_tracker: bool,
        selector: &mut dyn Selector,
    ) -> Option<Probes> {
        if !selector.wants(method) {
            return None;
        }
        let never = if is_tracker {
            Some(Reason::Tracker)
        } else {
            never::reason(method)
        };
        // `Object.<init>` counts as an intrinsic candidate by its annotation, so its calls are not counted. But
        // when another constructor is compiled, it contains the body of `Object.<init>`, so an object probe there
        // works.
        let only_objects = never.is_some() && method.is_object_init();
        if let Some(reason) = never {
            self.leave_alone(method.index(), reason);
            if !only_objects {
                return None;
            }
        }
        let mut probes = selector.method(method);
        if only_objects {
            probes = Probes {
                objects: probes.objects,
                ..Probes::default()
            };
        }
        (!probes.is_none()).then_some(probes)
    }

    /// Plans `method` with `probes`, and adds the piece of its code.
    fn plan_method(
        &mut self,
        method: &Member<'_, '_>,
        probes: Probes,
        selector: &mut dyn Selector,
        mode: Mode,
    ) {
        let code = match method.code() {
            Ok(Some(code)) => code,
            Ok(None) => return,
            Err(error) => return self.leave_alone(method.index(), Reason::Unreadable(error)),
        };
        let mut context = Context {
            options: &self.options,
            writer: &mut self.writer,
            selector,
        };
        let start = self.planned.len();
        let result = self
            .planner
            .plan(method, &code, probes, &mut context, &mut self.planned);
        let planned = match result {
            Ok(planned) => planned,
            Err(reason) => return self.leave_alone(method.index(), reason),
        };
        if !planned.inserts && mode == Mode::Instrument {
            // Only allocation probes were selected, and the method allocates nothing.
            self.planned.truncate(start);
            return;
        }
        self.report.instrumented += 1;
        if planned.uncovered != 0 {
            self.report.uncovered.push(Uncovered {
                method: method.index(),
                instructions: planned.uncovered,
            });
        }
        self.pieces.push(Piece {
            original_end: code.offset,
            planned_end: self.planned.len(),
            original_next: code.end,
        });
    }

    fn leave_alone(&mut self, method: u16, reason: Reason) {
        self.report.left_alone.push(LeftAlone { method, reason });
    }

    /// Writes the rewritten class: the original with the additions to the pool, and with the planned `Code`
    /// attributes instead of the old ones.
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
        let no_buffer = || Error::new(ErrorKind::Allocation { len }, 0, Structure::Class);
        let mut buffer = allocate(len).ok_or_else(no_buffer)?;
        let bytes = buffer.as_mut();
        if bytes.len() != len {
            return Err(no_buffer());
        }
        let mut out = Output { rest: bytes };
        // magic and versions, then constant_pool_count; the first piece begins with
        // the old constants.
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
        // Bytes are left only if planner and emitter disagree. An error is then better than a wrong class.
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

/// Fills a buffer from front to back.
struct Output<'b> {
    rest: &'b mut [u8],
}

impl Output<'_> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        let unwritten = std::mem::take(&mut self.rest);
        if let Some((target, rest)) = unwritten.split_at_mut_checked(bytes.len()) {
            target.copy_from_slice(bytes);
            self.rest = rest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_options_are_checked_again() {
        let mut rewriter = Rewriter::new(Options::default());
        // An empty slice is not a class. Wrong options must be refused before wrong bytes.
        let refused = |rewriter: &mut Rewriter| {
            let result = rewriter.copy(b"", |len| Some(vec![0; len]));
            matches!(result, Err(error) if matches!(error.kind(), ErrorKind::BadOption(_)))
        };
        assert!(!refused(&mut rewriter));
        "com.example.Tracker".clone_into(&mut rewriter.options_mut().owner);
        assert!(refused(&mut rewriter));
        assert!(refused(&mut rewriter));
        "com/example/Tracker".clone_into(&mut rewriter.options_mut().owner);
        assert!(!refused(&mut rewriter));
    }
}
