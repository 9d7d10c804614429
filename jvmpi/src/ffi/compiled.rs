//! Reports compiled methods.

use std::ffi::c_void;

use loadhook_jvm::jvmti::MethodKey;

use super::layer;
use super::lines;
use crate::abi::{CompiledMethodLoad, Data, Int, Lineno, event};

/// Sends `COMPILED_METHOD_LOAD`. `places` has offsets in the compiled code, each with the offset in the method's
/// bytecode.
pub(super) fn loaded(method: MethodKey, code: *const c_void, size: Int, places: &[(Int, i64)]) {
    let wanted = layer::wanted(event::COMPILED_METHOD_LOAD);
    let Some(jni) = layer::current_jni().filter(|_| wanted != 0) else {
        return;
    };
    let lines: Vec<Lineno> = places
        .iter()
        .map(|(offset, location)| Lineno {
            offset: *offset,
            line: lines::line(method, *location),
        })
        .collect();
    let compiled_method_load = CompiledMethodLoad {
        method: method.0,
        code,
        size,
        num_lines: lines.len() as Int,
        lines: lines.as_ptr(),
    };
    let data = Data {
        compiled_method_load,
    };
    layer::send(wanted, event::COMPILED_METHOD_LOAD, layer::id(jni), data);
}

/// Sends `COMPILED_METHOD_UNLOAD`.
pub(super) fn unloaded(method: MethodKey) {
    let wanted = layer::wanted(event::COMPILED_METHOD_UNLOAD);
    if let Some(jni) = layer::current_jni().filter(|_| wanted != 0) {
        let data = layer::method_data(method.0);
        layer::send(wanted, event::COMPILED_METHOD_UNLOAD, layer::id(jni), data);
    }
}
