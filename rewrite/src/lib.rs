//! Rewrites Java class files: inserts probes at method entry, exit, exceptions
//! and allocations, and changes nothing else.
//!
//! # What the crate does
//!
//! A class comes in as bytes and goes out as bytes, in a buffer that the caller allocates: an agent's class-load
//! hook allocates memory of the VM, an offline tool a `Vec`. Probes are calls of static methods of one class, the
//! *tracker*, which the caller writes and names in [`Options`]. A [`Selector`] chooses methods and probes, and
//! assigns ids.
//!
//! If the input is valid, so is the output. A method that cannot be instrumented stays unchanged, and the
//! [`Report`] has the [`Reason`].
//!
//! The crate also reads class files ([`ClassFile`]) and prints them ([`text`]).
//!
//! # What the crate does not do
//!
//! It does no I/O, starts no thread, and knows nothing of a JVM. It needs no class hierarchy, because it moves the
//! existing frames instead of computing frames again. If a widened jump needs a new frame, this frame gets the types
//! that the straight-line code before the jump leaves. The crate does not change fields, add methods, or use more than
//! one class at a time.
//!
//! # Example
//!
//! Counting the calls of all methods but getters:
//!
//! ```
//! use loadhook_rewrite::class::Member;
//! use loadhook_rewrite::{Options, Outcome, Probes, Rewriter, Selector};
//!
//! /// Gives each method an id, and keeps its name.
//! #[derive(Default)]
//! struct Methods(Vec<String>);
//!
//! impl Selector for Methods {
//!     fn method(&mut self, method: &Member<'_, '_>) -> Probes {
//!         if method.is_trivial(8) {
//!             return Probes::default();
//!         }
//!         let id = self.0.len() as u32;
//!         self.0.push(String::from_utf8_lossy(method.name()).into_owned());
//!         Probes { timing: Some(id), ..Probes::default() }
//!     }
//! }
//!
//! let class = include_bytes!("../doc/Greeter.class");
//! let mut rewriter = Rewriter::new(Options {
//!     owner: "com/example/Tracker".to_owned(),
//!     ..Options::default()
//! });
//! let mut methods = Methods::default();
//! let outcome = rewriter.rewrite(class, &mut methods, |len| Some(vec![0; len]))?;
//!
//! let Outcome::Rewritten(rewritten) = outcome else {
//!     panic!("the class needs no change");
//! };
//! assert_eq!(methods.0, ["<init>", "greet"]);
//! assert_eq!(rewriter.report().instrumented, 2);
//! assert!(rewriter.report().left_alone.is_empty());
//! // The constants of the tracker's calls are after the old ones.
//! let rewritten = loadhook_rewrite::ClassFile::parse(&rewritten)?;
//! let original = loadhook_rewrite::ClassFile::parse(class)?;
//! assert!(rewritten.pool().count() > original.pool().count());
//! # Ok::<(), loadhook_rewrite::Error>(())
//! ```
//!
//! # What is inserted
//!
//! | probe | position | call |
//! |---|---|---|
//! | entry | before the first instruction; runs once in an invocation | `enter(I)V` |
//! | | the same with [`Options::receiver`], or with [`Options::static_parameter`] | `enter(Ljava/lang/Object;I)V` |
//! | count | before the first instruction, and before an entry probe; runs once in an invocation | `count(I)V` |
//! | exit | before every return, and in an added catch-any handler, which comes last and rethrows | `exit(I)V` |
//! | | instead of `exit` where an exception leaves a constructor: id, the constructor's key | `ended(II)V` |
//! | | before the returns of a constructor that has the two probes below: id, 0 | `ended(II)V` |
//! | construction | before a constructor's call of another constructor, except those of `Object`, `Record` and `Enum`: id, own key, key of the called one | `construct(III)V` |
//! | | after that call | `constructed(I)V` |
//! | caught | at the beginning of every handler of the original method, unless it only leaves monitors and rethrows | `caught(I)V` |
//! | allocation | after `new` | `alloc(I)V` |
//! | | after `newarray`, `anewarray`, and `multianewarray` of one dimension: length, site | `allocArray(II)V` |
//! | | after other `multianewarray`, for each dimension: length, dimension, site | `allocDimension(III)V` |
//! | object | at the beginning of `Object.<init>` | `init(Ljava/lang/Object;)V` |
//! | | after every instruction that makes an array | `newArray(Ljava/lang/Object;)V` |
//!
//! The count probe is for trackers that only count calls. There is no such probe at exits, so it also fits into
//! methods whose code is too long for entry and exit probes.
//!
//! The `caught` probe exists because one exit has no probe: no handler may cover a constructor's call of
//! `super(…)`, so if that call throws, the invocation has entered and never exits. A tracker that keeps a path of
//! methods repairs the path at the next `exit` or `caught` of an outer method: everything above that method's id
//! on the path has ended. If the called constructor is instrumented too, the tracker repairs the path at once.
//! The called constructor reports its end by `ended` with its key, the `construct` before it named the same key,
//! and so both constructors have ended. A key is a hash of class and descriptor. With
//! [`CallShape::ClassAndMethod`], constructors have only `exit`.
//!
//! # What is never instrumented
//!
//! Some methods are recognised by their annotations and bodies, see [`Reason::is_by_nature`]: intrinsic
//! candidates, methods that change the current thread, methods that the VM hides, compiled lambda forms,
//! `Object.finalize`, empty finalizers, and the tracker's own methods.
//!
//! # Speed
//!
//! A class that needs no change costs one walk through it and no allocation. Keep a [`Rewriter`] for each thread,
//! because its buffers are reused. `docs/dev/rewriter.md` describes the algorithm.
#![forbid(unsafe_code)]

mod annotations;
mod attribute;
pub mod class;
pub mod code;
pub mod constant_pool;
mod cp_index;
pub mod descriptor;
pub mod error;
mod method;
mod modified_utf8;
mod never;
pub mod opcode;
mod options;
mod outcome;
mod probe;
pub mod reader;
mod rewriter;
mod selector;
pub mod symbol;
pub mod text;

pub use class::ClassFile;
pub use code::Bci;
pub use cp_index::CpIndex;
pub use error::{Error, ErrorKind, Result, Structure};
pub use options::{CallShape, MethodNames, Options, UnknownCodeAttributes};
pub use outcome::{LeftAlone, Outcome, Reason, Report, Uncovered};
pub use rewriter::Rewriter;
pub use selector::{Allocation, Everything, Probes, Selector, Site};
