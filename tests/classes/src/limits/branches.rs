//! Branches of every kind with 16-bit offsets that are nearly too long.

use super::case::LimitCase;
use super::operands::Condition;
use super::scenery::Scenery;
use crate::assembler::{ClassBuilder, CodeBuilder, VerificationTypeInfo as V, access, op};
use crate::shapes::{Arg, Driver, Filler, SITE_STACK, mark};

/// The tested distances of branches.
pub(super) const DISTANCES: [usize; 11] = [
    32_700, 32_740, 32_755, 32_760, 32_761, 32_762, 32_763, 32_764, 32_765, 32_766, 32_767,
];

/// Class file versions: one without frames; one that the JVM verifies with frames or, failing that,
/// with the old verifier; and one that is verified only with frames.
pub(super) const VERSIONS: [u16; 3] = [49, 50, 52];

/// The direction and distance of a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// To a higher offset.
    Forward(usize),
    /// To a lower offset.
    Backward(usize),
}

impl Reach {
    /// Returns all directions and distances.
    pub(super) fn all() -> Vec<Self> {
        let mut all: Vec<_> = DISTANCES.into_iter().map(Self::Forward).collect();
        all.extend(DISTANCES.into_iter().map(Self::Backward));
        all.push(Self::Backward(32_768));
        all
    }

    /// Returns the part of a class name that stands for this reach.
    pub(super) fn name(self) -> String {
        match self {
            Self::Forward(distance) => format!("forward_{distance}"),
            Self::Backward(distance) => format!("backward_{distance}"),
        }
    }

    /// Returns the distance without its sign.
    pub(super) fn distance(self) -> usize {
        match self {
            Self::Forward(distance) | Self::Backward(distance) => distance,
        }
    }

    /// Returns the number of allocation sites between branch and target. Their probes, of at least
    /// 4 bytes each, make the branch too long.
    pub(super) fn sites(self) -> usize {
        if self.distance() < 32_755 { 24 } else { 4 }
    }

    /// Returns a filler that ends `rest` bytes before the branch's distance from `start` is
    /// reached.
    pub(super) fn filler(self, code: &CodeBuilder<'_>, start: usize, rest: usize) -> Filler {
        let used = code.pc() - start + rest;
        Filler {
            length: self.distance().saturating_sub(used),
            sites: self.sites(),
        }
    }
}

/// The length of [`telltale`].
pub(super) const TELLTALE: usize = 3;

/// Appends code before a target. If a wrong branch leads into the filler before the target, this
/// code changes the result.
pub(super) fn telltale(code: &mut CodeBuilder<'_>, result: u16) {
    code.iinc(result, 100);
}

pub(super) fn cases() -> Vec<LimitCase> {
    let mut cases = Vec::new();
    for opcode in op::CONDITIONAL_BRANCHES
        .into_iter()
        .chain([op::GOTO, op::JSR])
    {
        for reach in Reach::all() {
            for version in VERSIONS {
                // jsr is illegal from version 51 on (JVMS §4.9.1); in version 50 only a JVM that
                // falls back to the old verifier accepts it.
                if opcode == op::JSR && version > 49 {
                    continue;
                }
                let what = format!("{}_{}", op::mnemonic(opcode), reach.name());
                cases.push(LimitCase::new(
                    "branches",
                    &what,
                    version,
                    move |class, driver| {
                        build(class, driver, opcode, reach);
                    },
                ));
            }
        }
    }
    cases
}

fn build(class: &mut ClassBuilder, driver: &mut Driver, opcode: u8, reach: Reach) {
    Scenery::add_to(class);
    match opcode {
        op::GOTO => goto(class, driver, reach),
        op::JSR => jsr(class, driver, reach),
        _ => conditional(class, driver, opcode, reach),
    }
}

const FLAGS: u16 = access::PUBLIC | access::STATIC;

/// Adds a method with a conditional branch. The method's arguments are the operands of the branch,
/// then the operands in the second iteration.
fn conditional(class: &mut ClassBuilder, driver: &mut Driver, opcode: u8, reach: Reach) {
    let condition = Condition::of(opcode);
    let descriptor = format!("({})I", condition.descriptor().repeat(4));
    let then_stays = |first: [Arg; 2]| [first, condition.stays].concat();
    driver.call("test", &descriptor, &then_stays(condition.jumps));
    driver.call("test", &descriptor, &then_stays(condition.stays));
    let scenery = Scenery::at(4);
    class.method(FLAGS, "test", &descriptor, |code| {
        code.limits(Scenery::STACK + SITE_STACK, 4 + Scenery::SLOTS);
        let arguments = code.initial_locals();
        match reach {
            Reach::Forward(_) => {
                let target = code.label();
                let joined = [arguments, scenery.loose_types()].concat();
                scenery.fill(code);
                condition.push(code, 0);
                let start = code.pc();
                code.branch(opcode, target);
                scenery.make_use(code);
                mark(code, 1);
                reach.filler(code, start, TELLTALE).emit(code);
                telltale(code, scenery.result());
                code.bind(target).frame(&joined, &[]);
                mark(code, 2);
            }
            Reach::Backward(_) => {
                mark(code, 1);
                let target = code.here();
                let start = code.pc();
                code.frame(&arguments, &[]);
                mark(code, 2);
                scenery.fill(code);
                // The operands are copied by loads and stores of one byte each.
                let rest = usize::from(condition.count) + 4;
                reach.filler(code, start, rest).emit(code);
                condition.push(code, 0);
                condition.copy(code, 2, 0);
                code.branch(opcode, target);
                scenery.make_use(code);
                mark(code, 3);
            }
        }
        code.iload(scenery.result()).op(op::IRETURN);
    });
}

fn goto(class: &mut ClassBuilder, driver: &mut Driver, reach: Reach) {
    driver
        .call("test", "(I)I", &[Arg::Int(0)])
        .call("test", "(I)I", &[Arg::Int(1)]);
    let scenery = Scenery::at(1);
    class.method(FLAGS, "test", "(I)I", |code| {
        code.limits(Scenery::STACK + SITE_STACK, 1 + Scenery::SLOTS);
        let exact = [vec![V::Integer], scenery.types()].concat();
        let loose = [vec![V::Integer], scenery.loose_types()].concat();
        let (target, other) = (code.label(), code.label());
        match reach {
            Reach::Forward(_) => {
                scenery.fill(code);
                code.iload(0).branch(op::IFEQ, other);
                let start = code.pc();
                code.branch(op::GOTO, target);
                code.bind(other).frame(&exact, &[]);
                mark(code, 1);
                scenery.make_use(code);
                reach.filler(code, start, TELLTALE).emit(code);
                telltale(code, scenery.result());
                code.bind(target).frame(&loose, &[]);
                mark(code, 2);
            }
            Reach::Backward(_) => {
                mark(code, 1);
                let start = code.pc();
                code.bind(target).frame(&[V::Integer], &[]);
                scenery.fill(code);
                mark(code, 2);
                // These instructions follow the filler: iload_0, iinc, ifle.
                reach.filler(code, start, 1 + 3 + 3).emit(code);
                code.iload(0)
                    .iinc(0, -1)
                    .branch(op::IFLE, other)
                    .branch(op::GOTO, target);
                code.bind(other).frame(&exact, &[]);
                scenery.make_use(code);
            }
        }
        code.iload(scenery.result()).op(op::IRETURN);
    });
}

fn jsr(class: &mut ClassBuilder, driver: &mut Driver, reach: Reach) {
    driver.call("test", "(I)I", &[Arg::Int(5)]);
    let scenery = Scenery::at(2);
    class.method(FLAGS, "test", "(I)I", |code| {
        code.limits(Scenery::STACK + SITE_STACK, 2 + Scenery::SLOTS);
        let subroutine = code.label();
        scenery.fill(code);
        match reach {
            Reach::Forward(_) => {
                let start = code.pc();
                code.branch(op::JSR, subroutine);
                scenery.make_use(code);
                mark(code, 2);
                // After the filler follow a load of one byte (the result is local 2) and the
                // return.
                reach.filler(code, start, 2).emit(code);
                code.iload(scenery.result()).op(op::IRETURN);
                code.bind(subroutine).astore(1);
                mark(code, 1);
                code.local(op::RET, 1);
            }
            Reach::Backward(_) => {
                let main = code.label();
                code.branch_wide(op::GOTO_W, main);
                let start = code.pc();
                code.bind(subroutine).astore(1);
                mark(code, 1);
                reach.filler(code, start, 2).emit(code);
                code.local(op::RET, 1)
                    .bind(main)
                    .branch(op::JSR, subroutine);
                scenery.make_use(code);
                mark(code, 2);
                code.iload(scenery.result()).op(op::IRETURN);
            }
        }
    });
}
