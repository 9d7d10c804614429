//! The list of hand-made classes, and the functions that add a class to it.

use loadhook_testclasses::assembler::{ClassBuilder, CodeBuilder, access};
use loadhook_testclasses::shapes::{Arg, Driver};

/// A class that was assembled by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handmade {
    /// The name, which is also a valid file name. The class is named `handmade/<name>`.
    pub name: String,
    /// The construct that the class shows.
    pub construct: &'static str,
    /// True if the text of the class is too long for a golden file. Such a class is run, but not
    /// printed.
    pub large: bool,
    /// The class file.
    pub bytes: Vec<u8>,
}

/// The flags `public static`, which most methods of the hand-made classes have.
pub(super) const STATIC: u16 = access::PUBLIC | access::STATIC;

/// The list of hand-made classes while it is filled.
#[derive(Default)]
pub(super) struct List {
    pub(super) classes: Vec<Handmade>,
}

impl List {
    /// Adds a finished class.
    pub(super) fn push(
        &mut self,
        name: &str,
        construct: &'static str,
        large: bool,
        bytes: Vec<u8>,
    ) {
        let name = name.to_owned();
        debug_assert!(
            self.classes.iter().all(|class| class.name != name),
            "two hand-made classes have the name {name}"
        );
        self.classes.push(Handmade {
            name,
            construct,
            large,
            bytes,
        });
    }

    /// Adds a class, which `fill` fills with members.
    pub(super) fn class(
        &mut self,
        name: &str,
        construct: &'static str,
        version: u16,
        fill: impl FnOnce(&mut ClassBuilder, &mut Driver),
    ) {
        let bytes = assemble(name, version, fill);
        self.push(name, construct, false, bytes);
    }

    /// Adds a class like [`List::class`]. The text of the class is too long for a golden file.
    pub(super) fn large(
        &mut self,
        name: &str,
        construct: &'static str,
        version: u16,
        fill: impl FnOnce(&mut ClassBuilder, &mut Driver),
    ) {
        let bytes = assemble(name, version, fill);
        self.push(name, construct, true, bytes);
    }

    /// Adds a class with the method `static int test(int)`, which is called with each of
    /// `arguments`. Its max_stack and max_locals are 4 and 8 unless `body` sets them.
    pub(super) fn test(
        &mut self,
        name: &str,
        construct: &'static str,
        version: u16,
        arguments: &[i32],
        body: impl FnOnce(&mut CodeBuilder<'_>),
    ) {
        self.class(name, construct, version, |class, driver| {
            for &argument in arguments {
                driver.call("test", "(I)I", &[Arg::Int(argument)]);
            }
            class.method(STATIC, "test", "(I)I", |code| {
                code.limits(4, 8);
                body(code);
            });
        });
    }
}

/// Assembles a class. It has no `run()` if the driver was given no call.
fn assemble(
    name: &str,
    version: u16,
    fill: impl FnOnce(&mut ClassBuilder, &mut Driver),
) -> Vec<u8> {
    let mut class = ClassBuilder::new(version, &format!("handmade/{name}"));
    let mut driver = Driver::new();
    fill(&mut class, &mut driver);
    if !driver.is_empty() {
        driver.add_to(&mut class);
    }
    class
        .finish()
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}
