//! The probes around a constructor's call of another one.
//!
//! No handler may cover that call, so where it throws the constructor ends and
//! no probe says so. But a constructor that was called knows that it throws;
//! and keys tell the tracker whether it was called for the same object.

use crate::code::Code;
use crate::code::constructor::Runs;
use crate::code::relocation::Snippet;
use crate::code::simulate::Method;
use crate::constant_pool::Constant;
use crate::error::ErrorKind;
use crate::method::{Context, MethodPlanner};
use crate::options::CallShape;
use crate::outcome::Refusal;
use crate::probe::timing::Ends;

/// Classes whose constructors do not throw, and which very many classes extend.
const HARMLESS: [&[u8]; 3] = [b"java/lang/Object", b"java/lang/Record", b"java/lang/Enum"];

/// What is known of a constructor before its probes are placed.
pub(super) struct Construction {
    pub(super) runs: Runs,
    /// Its calls of constructors that may throw, and their keys.
    others: Vec<(u16, i16)>,
    key: i16,
}

impl MethodPlanner {
    /// Follows a constructor to the calls that initialise `this`.
    pub(super) fn construction(
        &mut self,
        method: &Method<'_, '_>,
        code: &Code<'_>,
    ) -> Result<Construction, ErrorKind> {
        let runs = self.label_constructor(method, code);
        let pool = method.class.pool();
        let mut others = Vec::new();
        for &bci in &runs.calls {
            let index = method.code.get(usize::from(bci) + 1..).unwrap_or_default();
            let index = index
                .first_chunk()
                .map_or(0, |&bytes| u16::from_be_bytes(bytes));
            let called = || {
                let class = match pool.get(index)? {
                    Constant::Methodref { class, .. } => pool.class_name(class)?,
                    _ => HARMLESS[0],
                };
                Ok((class, pool.member(index)?.1))
            };
            let (class, descriptor) =
                called().map_err(|error: crate::Error| error.kind().clone())?;
            if !HARMLESS.contains(&class) {
                others.push((bci, key(class, descriptor)));
            }
        }
        Ok(Construction {
            runs,
            others,
            key: key(method.class.name(), method.descriptor),
        })
    }

    /// Writes the probes before the calls; the one behind them, if there are any.
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

/// How the end of a method is told.
pub(super) fn ends(construction: Option<&Construction>, shape: CallShape) -> Ends {
    match (construction, shape) {
        (Some(construction), CallShape::Id) => Ends::Constructor {
            key: construction.key,
            constructs: !construction.others.is_empty(),
        },
        _ => Ends::Exits,
    }
}

/// 16 bits, which cost no constant; never 0. FNV-1a, folded.
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
