//! Collects the data of the event `CLASS_LOAD`, and sends it.

use std::ffi::CString;

use loadhook_jvm::jni::Jni;
use loadhook_jvm::reference::Local;

use super::layer::{self, Profilers};
use super::lines;
use super::own::text;
use crate::abi::{self, ClassLoad, Data, Int, ObjectId};

/// The data of a `CLASS_LOAD`, with the texts to which the event's pointers lead.
pub(super) struct Load {
    id: ObjectId,
    name: CString,
    source: Option<CString>,
    interfaces: Int,
    methods: Vec<(CString, CString, abi::Method)>,
    statics: Vec<(CString, CString)>,
    instances: Vec<(CString, CString)>,
    /// True if the class is prepared. Before that, its methods and fields are not known.
    pub(super) is_whole: bool,
}

impl Load {
    /// Collects the data about a class; returns `None` if the class is gone.
    pub(super) fn of(jni: Jni<'_>, class: Local<'_>, id: ObjectId) -> Option<Load> {
        let jvmti = layer::jvmti()?;
        let signature = jvmti.class_signature(class).ok()?;
        let mut load = Load {
            id,
            name: text(&name(&signature)),
            source: None,
            interfaces: 0,
            methods: Vec::new(),
            statics: Vec::new(),
            instances: Vec::new(),
            is_whole: true,
        };
        // Arrays and primitive types have no members.
        if !signature.starts_with(b"L") {
            return Some(load);
        }
        load.source = jvmti.source_file_name(class).ok().map(|name| text(&name));
        let (Some(methods), Ok(fields)) = (jvmti.class_methods(class), jvmti.class_fields(class))
        else {
            load.is_whole = false;
            return Some(load);
        };
        let interfaces = jni.framed(|jni| jvmti.interfaces(jni, class).map(|all| all.len()));
        load.interfaces = interfaces.and_then(Result::ok).unwrap_or(0) as Int;
        for method in methods {
            let Ok((name, signature)) = jvmti.method_name(method) else {
                continue;
            };
            let (start_line, end_line) = lines::range(method);
            let facts = abi::Method {
                name: std::ptr::null(),
                signature: std::ptr::null(),
                start_line,
                end_line,
                id: method.0,
            };
            load.methods.push((text(&name), text(&signature), facts));
        }
        for field in fields {
            let list = if field.is_static {
                &mut load.statics
            } else {
                &mut load.instances
            };
            list.push((text(&field.name), text(&field.descriptor)));
        }
        Some(load)
    }

    /// Sends the event.
    pub(super) fn send(&self, jni: Jni<'_>, to: Profilers, event_type: Int) {
        if to == 0 {
            return;
        }
        let methods: Vec<abi::Method> = self
            .methods
            .iter()
            .map(|(name, signature, facts)| abi::Method {
                name: name.as_ptr(),
                signature: signature.as_ptr(),
                ..*facts
            })
            .collect();
        let field = |(name, signature): &(CString, CString)| abi::Field {
            name: name.as_ptr(),
            signature: signature.as_ptr(),
        };
        let statics: Vec<abi::Field> = self.statics.iter().map(field).collect();
        let instances: Vec<abi::Field> = self.instances.iter().map(field).collect();
        let class_load = ClassLoad {
            class_name: self.name.as_ptr(),
            source_name: self
                .source
                .as_ref()
                .map_or(std::ptr::null(), |name| name.as_ptr()),
            num_interfaces: self.interfaces,
            num_methods: methods.len() as Int,
            methods: methods.as_ptr(),
            num_statics: statics.len() as Int,
            statics: statics.as_ptr(),
            num_instances: instances.len() as Int,
            instances: instances.as_ptr(),
            class: self.id,
        };
        layer::send(to, event_type, layer::id(jni), Data { class_load });
    }
}

/// Returns the name of a class as JVMPI writes it: `java.lang.String`, `[Ljava.lang.String;`.
fn name(signature: &[u8]) -> Vec<u8> {
    let inner = match signature {
        [b'L', name @ .., b';'] => name,
        // A primitive type.
        [one] => return primitive(*one).to_vec(),
        other => other,
    };
    let dotted = |byte: &u8| if *byte == b'/' { b'.' } else { *byte };
    inner.iter().map(dotted).collect()
}

fn primitive(descriptor: u8) -> &'static [u8] {
    match descriptor {
        b'Z' => b"boolean",
        b'C' => b"char",
        b'F' => b"float",
        b'D' => b"double",
        b'B' => b"byte",
        b'S' => b"short",
        b'I' => b"int",
        b'J' => b"long",
        _ => b"void",
    }
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn names_have_dots() {
        for (signature, expected) in [
            ("Ljava/lang/String;", "java.lang.String"),
            ("[Ljava/lang/String;", "[Ljava.lang.String;"),
            ("[[I", "[[I"),
            ("I", "int"),
        ] {
            assert_eq!(name(signature.as_bytes()), expected.as_bytes());
        }
    }
}
