//! The probes around a constructor's call of another constructor.
//!
//! No handler may cover that call, so if it throws, the calling constructor ends without a probe. But the called
//! constructor can report that an exception leaves it. This report and the probe before the call contain the key
//! of the called constructor. By this key the tracker recognises that both constructors ran for the same object.

use crate::code::Code;
use crate::code::bci::Bci;
use crate::code::constructor::Runs;
use crate::code::instructions::Instruction;
use crate::code::relocation::Snippet;
use crate::code::simulate::MethodBody;
use crate::constant_pool::Constant;
use crate::error::{Error, ErrorKind};
use crate::method::planner::{Context, MethodPlanner};
use crate::options::CallShape;
use crate::outcome::Refusal;
use crate::probe::timing::EndProbes;

/// Classes whose constructors never throw, and that very many classes extend.
const NEVER_THROWING: [&[u8]; 3] = [b"java/lang/Object", b"java/lang/Record", b"java/lang/Enum"];

/// The calls in a constructor that initialise `this`, and the keys for the probes at these calls.
pub(super) struct Construction {
    pub(super) runs: Runs,
    /// The calls of other constructors that may throw, each with the key of the
    /// called constructor.
    others: Vec<(Bci, i16)>,
    /// The key of the constructor itself.
    key: i16,
}

impl MethodPlanner {
    /// Finds the calls in a constructor that initialise `this`.
    pub(super) fn construction(
        &mut self,
        method: &MethodBody<'_, '_>,
        code: &Code<'_>,
    ) -> Result<Construction, ErrorKind> {
        let runs = self.label_constructor(method, code);
        let pool = method.class.pool();
        let mut others = Vec::new();
        for &bci in &runs.calls {
            let index = Instruction::at(method.code, bci)?.constant();
            let called = || {
                let class = match pool.get(index)? {
                    Constant::Methodref { class, .. } => pool.class_name(class)?,
                    _ => NEVER_THROWING[0],
                };
                Ok((class, pool.member(index)?.1))
            };
            let (class, descriptor) = called().map_err(|error: Error| error.kind().clone())?;
            if !NEVER_THROWING.contains(&class) {
                others.push((bci, key(class, descriptor)));
            }
        }
        Ok(Construction {
            runs,
            others,
            key: key(method.class.name(), method.descriptor),
        })
    }

    /// Writes the probe before each call of another constructor. Returns the probe that follows each of these calls.
    /// That probe is empty if there is no such call, or if the call shape is not [`CallShape::Id`].
    pub(super) fn write_construction(
        &mut self,
        construction: &Construction,
        id: u32,
        context: &mut Context<'_>,
    ) -> Result<Snippet, Refusal> {
        let (writer, options) = (&mut *context.writer, context.options);
        if construction.others.is_empty() || options.call_shape != CallShape::Id {
            return Ok(Snippet::default());
        }
        for &(bci, other) in &construction.others {
            let probe = writer.construct(id, construction.key, other, options)?;
            self.calls.push((bci, probe));
        }
        Ok(writer.constructed(id, options)?)
    }
}

/// Chooses the probes that report the end of a method.
pub(super) fn end_probes(construction: Option<&Construction>, shape: CallShape) -> EndProbes {
    match (construction, shape) {
        (Some(construction), CallShape::Id) => EndProbes::Constructor {
            key: construction.key,
            constructs: !construction.others.is_empty(),
        },
        _ => EndProbes::Exit,
    }
}

/// Returns the key of a constructor: the FNV-1a hash of class and descriptor, folded to 16 bits so that `sipush`
/// pushes it without a constant. It is never 0.
fn key(class: &[u8], descriptor: &[u8]) -> i16 {
    let mut hash = 0x811c_9dc5_u32;
    for &byte in class.iter().chain(descriptor) {
        hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    let folded = (hash >> 16 ^ hash) as u16;
    folded.max(1).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_tell_constructors_apart() {
        let mut keys = std::collections::BTreeSet::new();
        for class in ["A", "B", "java/lang/Exception", "com/example/Outer$Inner"] {
            for descriptor in ["()V", "(I)V", "(J)V", "(Ljava/lang/String;)V"] {
                let key = key(class.as_bytes(), descriptor.as_bytes());
                assert_ne!(key, 0);
                assert!(keys.insert(key), "{class}{descriptor}");
            }
        }
    }
}
