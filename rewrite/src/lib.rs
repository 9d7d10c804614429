//! Rewrites Java class files: method entry and exit, exception and allocation
//! probes, put in without touching anything else.
//!
//! A class comes in as bytes and goes out as bytes, in a buffer that the
//! caller allocates: an agent's class-load hook takes it from the VM, an
//! offline tool from a `Vec`. A method that cannot be instrumented stays as it
//! was, and the [`Report`] says why; the class stays valid, always. The crate
//! does no I/O, starts no thread, knows nothing of a JVM and needs no class
//! hierarchy: frames are patched, and where a widened jump needs a new one its
//! types are those of the straight-line code before it.
//!
//! What the probes call is up to you: static methods of one class, the
//! *tracker*, named in [`Options`].
//!
//! # Example
//!
//! Counting calls of everything that is no getter:
//!
//! ```
//! use loadhook_rewrite::class::Member;
//! use loadhook_rewrite::{Options, Outcome, Probes, Rewriter, Selector};
//!
//! /// Gives ids to methods and remembers their names.
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
//!     panic!("nothing to do");
//! };
//! assert_eq!(methods.0, ["<init>", "greet"]);
//! assert_eq!(rewriter.report().instrumented, 2);
//! assert!(rewriter.report().left_alone.is_empty());
//! // The tracker's calls are in the constant pool behind what was there.
//! let rewritten = loadhook_rewrite::ClassFile::parse(&rewritten)?;
//! let original = loadhook_rewrite::ClassFile::parse(class)?;
//! assert!(rewritten.pool().count() > original.pool().count());
//! # Ok::<(), loadhook_rewrite::Error>(())
//! ```
//!
//! # What is inserted
//!
//! | probe | where | call |
//! |---|---|---|
//! | entry | once an invocation, before the first instruction | `enter(I)V` |
//! | exit | before every return, and in a catch-any handler that comes last and rethrows | `exit(I)V` |
//! | | instead of `exit` where an exception leaves a constructor: id, its key | `ended(II)V` |
//! | | before the returns of a constructor that calls another one: id, 0 | `ended(II)V` |
//! | construction | before that call, if it is not `Object`'s, `Record`'s or `Enum`'s: id, own key, the other's | `construct(III)V` |
//! | | behind it | `constructed(I)V` |
//! | caught | at the beginning of every handler the method already had | `caught(I)V` |
//! | allocation | behind `new` | `alloc(I)V` |
//! | | behind `newarray`, `anewarray`, `multianewarray` of one dimension: length, site | `allocArray(II)V` |
//! | | behind other `multianewarray`, for each dimension: length, dimension, site | `allocDimension(III)V` |
//! | object | at the beginning of `Object.<init>` | `init(Ljava/lang/Object;)V` |
//! | | behind every instruction that makes an array | `newArray(Ljava/lang/Object;)V` |
//!
//! `caught` is there because one exit cannot be seen: a constructor whose call
//! of `super(…)` throws. No handler may cover that call, so such an
//! invocation enters and never exits. A tracker that keeps a path heals it at
//! the next `exit` or `caught` of an outer method: what lies above that
//! method's id on its path is gone. Where the constructor that was called is
//! instrumented it heals at once: `ended` with the key that the `construct`
//! below it named tells that both have ended. A key is made of class and
//! descriptor. With [`CallShape::ClassAndMethod`] there is only `exit`.
//!
//! # What is never instrumented
//!
//! Known by annotations and bodies, see [`Reason::is_by_nature`]: intrinsic
//! candidates, methods that change the current thread or that the VM hides,
//! compiled lambda forms, `Object.finalize` and empty finalizers, and the
//! tracker itself.
//!
//! # Speed
//!
//! A class with nothing to do costs a walk through it and no allocation.
//! Keep a [`Rewriter`] per thread: its buffers are reused.
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
pub use error::{Error, ErrorKind, Place, Result};
pub use options::{CallShape, MethodNames, Options, UnknownCodeAttributes};
pub use outcome::{LeftAlone, Outcome, Reason, Report, Uncovered};
pub use rewriter::Rewriter;
pub use selector::{Allocation, Everything, Probes, Selector, Site};
