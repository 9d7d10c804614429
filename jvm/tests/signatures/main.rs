//! Compares the types of function pointers with the headers of the JDKs.
//!
//! Our libraries call functions of JNI and JVM TI through pointers whose types they declare themselves, and the JVM
//! calls functions of our libraries. The test reads the types of all these functions from the sources, writes each as a
//! C type, and has the C compiler compare it with the type in `jni.h` and `jvmti.h`. The test `layout` compares the
//! slots, numbers and structs.

use std::any::TypeId;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use loadhook_jvm::sys::{Boolean, FieldId, Int, JvmtiError, Long, MethodId, Object};
use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::{corpus, paths, process};

use bindings::{Bindings, Signature};

mod bindings;

/// The functions that the JVM calls, each with its type in the headers. An entry point has
/// no named type, so its prototype is used.
const CALLED_BY_THE_JVM: &[(&str, &str)] = &[
    ("Agent_OnLoad", "__typeof__(Agent_OnLoad) *"),
    ("Agent_OnAttach", "__typeof__(Agent_OnAttach) *"),
    ("vm_start", "jvmtiEventVMStart"),
    ("vm_init", "jvmtiEventVMInit"),
    ("vm_death", "jvmtiEventVMDeath"),
    ("thread_start", "jvmtiEventThreadStart"),
    ("thread_end", "jvmtiEventThreadEnd"),
    ("class_file_load_hook", "jvmtiEventClassFileLoadHook"),
    ("native_method_bind", "jvmtiEventNativeMethodBind"),
    ("data_dump_request", "jvmtiEventDataDumpRequest"),
    ("monitor_wait", "jvmtiEventMonitorWait"),
    ("monitor_waited", "jvmtiEventMonitorWaited"),
    ("monitor_contended_enter", "jvmtiEventMonitorContendedEnter"),
    (
        "monitor_contended_entered",
        "jvmtiEventMonitorContendedEntered",
    ),
    ("object_alloc", "jvmtiEventSampledObjectAlloc"),
    ("object_alloc", "jvmtiEventVMObjectAlloc"),
    ("sampled_object_alloc", "jvmtiEventSampledObjectAlloc"),
    ("vm_object_alloc", "jvmtiEventVMObjectAlloc"),
    ("class_prepare", "jvmtiEventClassPrepare"),
    ("compiled_method_load", "jvmtiEventCompiledMethodLoad"),
    ("compiled_method_unload", "jvmtiEventCompiledMethodUnload"),
    ("dynamic_code_generated", "jvmtiEventDynamicCodeGenerated"),
    (
        "garbage_collection_finish",
        "jvmtiEventGarbageCollectionFinish",
    ),
    (
        "garbage_collection_start",
        "jvmtiEventGarbageCollectionStart",
    ),
    ("object_free", "jvmtiEventObjectFree"),
    ("single_step", "jvmtiEventSingleStep"),
    ("agent_thread", "jvmtiStartFunction"),
    ("tag_object", "jvmtiHeapIterationCallback"),
    ("count_object", "jvmtiHeapIterationCallback"),
    ("heap_reference", "jvmtiHeapReferenceCallback"),
    ("primitive_field", "jvmtiPrimitiveFieldCallback"),
    ("array_primitive_value", "jvmtiArrayPrimitiveValueCallback"),
];

/// The functions that the JVM calls from JDK 21 on, with their types in the headers. Events that are extensions of
/// HotSpot have no type of their own; these two have the parameters of `VirtualThreadStart`.
const CALLED_SINCE_21: [(&str, &str); 4] = [
    ("virtual_thread_start", "jvmtiEventVirtualThreadStart"),
    ("virtual_thread_end", "jvmtiEventVirtualThreadEnd"),
    ("virtual_thread_mount", "jvmtiEventVirtualThreadStart"),
    ("virtual_thread_unmount", "jvmtiEventVirtualThreadStart"),
];

/// Returns whether a function with C linkage is one that no header declares, because it implements a native method of a
/// Java class, or handles a signal.
fn is_undeclared(function: &str) -> bool {
    function.starts_with("Java_")
        || [
            "define_class_0",
            "define_anonymous_class_0",
            "loadhook_sleep",
            "on_signal",
            "sleep",
        ]
        .contains(&function)
}

/// Returns the functions that the JVM calls and that the headers of a JDK of this feature release declare.
fn called_by_the_jvm(feature: u32) -> impl Iterator<Item = (&'static str, &'static str)> {
    let since_21 = CALLED_SINCE_21.into_iter().filter(move |_| feature >= 21);
    CALLED_BY_THE_JVM.iter().copied().chain(since_21)
}

/// The C types, and the sizes of the Rust types that stand for them. The sizes must be equal.
/// `jboolean` is an integer, since a `bool` with a byte other than 0 and 1 is undefined behaviour.
const SIZES: &[(&str, usize)] = &[
    ("jint", size_of::<Int>()),
    ("jlong", size_of::<Long>()),
    ("jboolean", size_of::<Boolean>()),
    ("jobject", size_of::<Object>()),
    ("jmethodID", size_of::<MethodId>()),
    ("jfieldID", size_of::<FieldId>()),
    ("jvmtiError", size_of::<JvmtiError>()),
];

/// The folders with bindings.
const FOLDERS: [&str; 2] = ["jvm/src", "agent/src/jvm"];

/// The callbacks of the JVMPI layer. The other functions of its folder, and those of the agent's folder `jvmpi`, have the
/// types of JVMPI, which `jvmpi.h` declares.
const JVMPI_CALLBACKS: &str = "jvmpi/src/ffi/callbacks.rs";

/// Reads the bindings from the sources.
fn bindings() -> Result<Bindings> {
    let mut bindings = Bindings::default();
    let mut files = vec![paths::workspace().join(JVMPI_CALLBACKS)];
    for folder in FOLDERS {
        let found = corpus::files(&paths::workspace().join(folder), "rs")?;
        let of_jvmpi = paths::workspace().join("agent/src/jvm/jvmpi");
        files.extend(
            found
                .into_iter()
                .filter(|file| !file.starts_with(&of_jvmpi)),
        );
    }
    for file in files {
        let name = file.strip_prefix(paths::workspace())?.display().to_string();
        bindings.add(&name, &fs::read_to_string(&file)?)?;
    }
    Ok(bindings)
}

/// Returns the name of a slot's function in the header, for example `GetMethodID` for `jni::GET_METHOD_ID`.
fn header_name(slot: &str) -> String {
    let (_, name) = slot.split_once("::").unwrap_or(("", slot));
    let word = |word: &str| match word {
        "ID" | "UTF" | "JNI" => word.to_owned(),
        _ => word[..1].to_owned() + &word[1..].to_lowercase(),
    };
    name.split('_').map(word).collect()
}

/// Returns the name of the struct in the header that contains the slot.
fn table(slot: &str) -> &'static str {
    match slot.split_once("::") {
        Some(("invoke", _)) => "struct JNIInvokeInterface_",
        Some(("jni", _)) => "struct JNINativeInterface_",
        _ => "struct jvmtiInterface_1_",
    }
}

/// Writes a C assertion: the type in the header is one of the C types that the signature stands
/// for.
fn compare(c: &mut String, name: &str, header: &str, signature: &Signature) {
    let same: Vec<String> = signature
        .c_types("*")
        .iter()
        .map(|ours| format!("__builtin_types_compatible_p({header}, {ours})"))
        .collect();
    let same = same.join("\n || ");
    let place = &signature.place;
    writeln!(
        c,
        "_Static_assert({same}, \"{name} as declared by {place}\");"
    )
    .unwrap();
}

/// Returns a C source that compiles only if all signatures agree with the headers of this feature release.
fn c_source(bindings: &Bindings, feature: u32) -> Result<String> {
    let mut c = String::from("#include <jni.h>\n#include <jvmti.h>\n");
    for (name, size) in SIZES {
        writeln!(
            c,
            "_Static_assert(sizeof({name}) == {size}, \"size of {name}\");"
        )?;
    }
    for (slot, signatures) in &bindings.calls {
        let name = header_name(slot);
        let header = format!("__typeof__((({} *)0)->{name})", table(slot));
        for signature in signatures {
            compare(&mut c, &name, &header, signature);
        }
    }
    for (name, header) in called_by_the_jvm(feature) {
        for signature in bindings.functions.get(name).into_iter().flatten() {
            compare(&mut c, name, header, signature);
        }
    }
    Ok(c)
}

/// Has the C compiler compare all signatures with the headers of a JDK.
fn check(jdk: &Jdk, bindings: &Bindings) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let source = folder.path().join("signatures.c");
    fs::write(&source, c_source(bindings, jdk.feature)?)?;
    let include = jdk.home.join("include");
    let mut cc = Command::new("cc");
    cc.args(["-std=gnu11", "-fsyntax-only", "-I"]).arg(&include);
    cc.arg("-I").arg(include.join("linux")).arg(&source);
    process::output(&mut cc).with_context(|| format!("the headers of JDK {}", jdk.feature))?;
    Ok(())
}

fn headers_of(feature: u32) -> Result<Option<Jdk>> {
    let jdk = Jdk::find(feature)?;
    Ok(jdk.home.join("include/jni.h").is_file().then_some(jdk))
}

fn jdk_17() -> Result<Jdk> {
    headers_of(17)?.context("JDK 17 has no include/jni.h: install a whole JDK, not only a runtime")
}

#[test]
fn signatures_are_those_of_every_header() -> Result<()> {
    let bindings = bindings()?;
    check(&jdk_17()?, &bindings)?;
    let mut newest = 17;
    for feature in [11, 21, 25] {
        match headers_of(feature)? {
            Some(jdk) => {
                check(&jdk, &bindings)?;
                newest = newest.max(feature);
            }
            None => println!("JDK {feature} is a runtime without headers; nothing is compared"),
        }
    }
    ensure!(
        newest >= 21,
        "{CALLED_SINCE_21:?} are compared with no header: install a whole JDK 21 or 25, not only a runtime"
    );
    Ok(())
}

/// Checks that every slot has a signature, and that every function that the JVM may call is
/// compared.
#[test]
fn no_binding_is_left_out() -> Result<()> {
    let bindings = bindings()?;
    let called: BTreeSet<String> = bindings.calls.keys().cloned().collect();
    ensure!(
        called == bindings.slots,
        "these slots have no signature, or these signatures no slot: {:?}",
        called.symmetric_difference(&bindings.slots)
    );
    ensure!(
        called.len() > 70,
        "more than 70 functions expected, only {} found",
        called.len()
    );
    let compared: BTreeSet<&str> = called_by_the_jvm(21).map(|(name, _)| name).collect();
    for name in &compared {
        ensure!(
            bindings.functions.contains_key(*name),
            "no signature of {name} was found"
        );
    }
    for name in bindings.functions.keys() {
        ensure!(
            compared.contains(name.as_str()) || is_undeclared(name),
            "{name} is compared with no header"
        );
    }
    Ok(())
}

#[test]
fn booleans_of_the_jvm_are_bytes() {
    assert_eq!(TypeId::of::<Boolean>(), TypeId::of::<u8>());
}

/// Returns the bindings in a file that calls one function, `IsSameObject`, with this type.
fn is_same_object(signature: &str) -> Result<Bindings> {
    let mut bindings = Bindings::default();
    let source = format!(
        "type Env = *mut sys::Table;
         impl Jni {{ fn is_same(self) {{
             type F = unsafe extern \"system\" fn{signature};
             self.function::<F>(jni::IS_SAME_OBJECT)(self.env);
         }} }}"
    );
    bindings.add("wrong.rs", &source)?;
    Ok(bindings)
}

#[test]
fn a_wrong_signature_is_found_and_named() -> Result<()> {
    let jdk = jdk_17()?;
    check(&jdk, &is_same_object("(Env, Object, Object) -> Boolean")?)?;
    for wrong in [
        "(Env, Object, Object) -> Int",
        "(Env, Object, Object)",
        "(Env, Object, Long) -> Boolean",
        "(Env, Object) -> Boolean",
        "(Env, Object, *mut Object) -> Boolean",
        "(Env, Object, Object, ...) -> Boolean",
    ] {
        let error = check(&jdk, &is_same_object(wrong)?).err();
        let error = error.with_context(|| format!("{wrong} passes"))?;
        let error = format!("{error:#}");
        ensure!(
            error.contains("IsSameObject as declared by is_same in wrong.rs"),
            "{wrong}: {error}"
        );
    }
    Ok(())
}

/// A Rust `bool` stands for no C type: with a byte other than 0 and 1 it would be undefined
/// behaviour.
#[test]
fn a_bool_is_refused() -> Result<()> {
    let error = is_same_object("(Env, Object, Object) -> bool").err();
    let error = format!("{:#}", error.context("the wrong signature is accepted")?);
    ensure!(error.contains("no C type is known for bool"), "{error}");
    Ok(())
}
