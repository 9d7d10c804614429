//! `--jit`: keeps the methods that the JIT compiler has compiled, and the methods that it has inlined into each of
//! them.

use std::collections::HashMap;

use loadhook_profile::{InlinedMethod, JitCode, JitMethod};

use super::stack_tree::NameNumber;
use crate::jvm::sampling::{Inlined, JitEvent};

/// Maximum number of inlined methods that are kept. A method counts once for each compiled method into which it is
/// inlined.
const MOST_INLINED: usize = 1 << 20;

/// The compiled methods so far.
#[derive(Clone, Debug, Default)]
pub(super) struct JitTable {
    methods: HashMap<NameNumber, Code>,
    /// Number of inlined methods in all compiled methods together.
    inlined: usize,
    /// Number of compilations whose inlined methods are not kept, because there was no room.
    without_inlined: u64,
}

/// The code of a method.
#[derive(Clone, Debug, Default)]
struct Code {
    compilations: u64,
    discarded: u64,
    /// Size of the code of all compilations together, in bytes.
    bytes: u64,
    /// Size of the code of the newest compilation, in bytes.
    size: u64,
    /// The inlined methods of the newest compilation.
    inlined: Vec<Inlined<NameNumber>>,
}

impl JitTable {
    pub(super) fn add(&mut self, event: JitEvent<NameNumber>) {
        match event {
            JitEvent::Compiled {
                method,
                size,
                inlined,
            } => {
                let code = self.methods.entry(method).or_default();
                code.compilations += 1;
                code.size = u64::from(size);
                code.bytes += u64::from(size);
                self.inlined -= std::mem::take(&mut code.inlined).len();
                if self.inlined + inlined.len() > MOST_INLINED {
                    self.without_inlined += 1;
                } else {
                    self.inlined += inlined.len();
                    code.inlined = inlined;
                }
            }
            JitEvent::Discarded { method } => {
                self.methods.entry(method).or_default().discarded += 1;
            }
        }
    }

    /// Makes the table for a profile. `method` returns the index of a method in the profile.
    pub(super) fn code(&self, mut method: impl FnMut(NameNumber) -> u32) -> JitCode {
        let mut found = JitCode::default();
        for (name, code) in &self.methods {
            let into = method(*name);
            found.methods.push(JitMethod {
                method: into,
                compilations: code.compilations,
                discarded: code.discarded,
                code_bytes: code.bytes,
                size: code.size,
            });
            for inlined in &code.inlined {
                found.inlined.push(InlinedMethod {
                    into,
                    method: method(inlined.method),
                    depth: inlined.depth,
                    calls: u64::from(inlined.calls),
                });
            }
        }
        found.methods.sort_by_key(|code| code.method);
        found
            .inlined
            .sort_by_key(|of| (of.into, of.depth, of.method));
        found
    }

    /// Returns a note if inlined methods were not kept.
    pub(super) fn note(&self) -> Option<String> {
        (self.without_inlined > 0).then(|| {
            format!(
                "the inlined methods of {} compilations are not shown, since there was no room for them",
                loadhook_text::count(self.without_inlined)
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_compilation_has_the_inlined_methods() {
        let [a, b, c] = [1, 2, 3].map(NameNumber);
        let inlined = |method, depth| Inlined {
            method,
            depth,
            calls: 2,
        };
        let compiled = |size, inlined| JitEvent::Compiled {
            method: a,
            size,
            inlined,
        };
        let mut table = JitTable::default();
        table.add(compiled(100, vec![inlined(b, 1), inlined(c, 2)]));
        table.add(JitEvent::Discarded { method: a });
        table.add(compiled(70, vec![inlined(c, 1)]));
        let code = table.code(|name| 10 * name.0);
        let expected = JitMethod {
            method: 10,
            compilations: 2,
            discarded: 1,
            code_bytes: 170,
            size: 70,
        };
        assert_eq!(code.methods, [expected]);
        let expected = InlinedMethod {
            into: 10,
            method: 30,
            depth: 1,
            calls: 2,
        };
        assert_eq!(code.inlined, [expected]);
        assert_eq!((table.inlined, table.note()), (1, None));
    }
}
