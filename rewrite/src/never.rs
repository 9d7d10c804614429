//! Recognises methods that must never get a probe. Annotations and bodies decide, not a list of names, so that a new
//! JDK needs no new list.

use crate::class::Member;
use crate::opcode::Opcode;
use crate::outcome::Reason;

/// Returns the reason why `method` must not be instrumented; `None` if it may be instrumented.
#[inline]
pub(crate) fn reason(method: &Member<'_, '_>) -> Option<Reason> {
    if method.has_annotations()
        && let Some(reason) = method.annotation_types().find_map(by_annotation)
    {
        return Some(reason);
    }
    if method.name() == b"finalize" && method.descriptor() == b"()V" {
        if method.class().name() == b"java/lang/Object" {
            return Some(Reason::ObjectFinalize);
        }
        // HotSpot treats a `finalize` that only returns as if there were no finalizer.
        if let Ok(Some(code)) = method.code()
            && code.bytecode == [Opcode::Return.byte()]
        {
            return Some(Reason::EmptyFinalize);
        }
    }
    None
}

fn by_annotation(annotation_type: &[u8]) -> Option<Reason> {
    Some(match annotation_type {
        b"Ljdk/internal/vm/annotation/IntrinsicCandidate;"
        | b"Ljdk/internal/HotSpotIntrinsicCandidate;" => Reason::IntrinsicCandidate,
        b"Ljdk/internal/vm/annotation/ChangesCurrentThread;" => Reason::ChangesCurrentThread,
        b"Ljdk/internal/vm/annotation/JvmtiMountTransition;" => Reason::JvmtiMountTransition,
        b"Ljdk/internal/vm/annotation/JvmtiHideEvents;" => Reason::JvmtiHideEvents,
        b"Ljdk/internal/vm/annotation/Hidden;" | b"Ljava/lang/invoke/LambdaForm$Hidden;" => {
            Reason::Hidden
        }
        b"Ljdk/internal/misc/ScopedMemoryAccess$Scoped;" => Reason::Scoped,
        // Methods of `Invokers$Holder` and other classes that `jlink` generates also have this
        // annotation.
        b"Ljava/lang/invoke/LambdaForm$Compiled;" => Reason::LambdaForm,
        _ => return None,
    })
}
