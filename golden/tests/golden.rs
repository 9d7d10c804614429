//! Golden files: the rewritten form of each input, as text.
//!
//! The inputs are the classes committed in `golden/inputs`, the classes that
//! `loadhook_golden::handmade` assembles, and a few of `loadhook_testclasses::limits`. For each
//! input, `golden/snapshots` has a file that shows the class with timing, allocation and object
//! probes, and `golden/snapshots/count` a file that shows it with probes that only count calls. A
//! file has the rewriter's report, and the rewritten class in the form of `loadhook inspect`. Some
//! parts are omitted: the constants of the original class, the middle of a long sequence of one
//! instruction, and the bodies of methods that only drive a hand-made class.
//!
//! ```text
//! cargo test -p loadhook-golden                       compare
//! INSTA_UPDATE=always cargo test -p loadhook-golden   accept the new text; then read the diff
//! ```
//!
//! A test also fails if a snapshot belongs to no input: delete such snapshots.

mod class_text;
mod inputs;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use class_text::{full_text, readable, without_old_pool};
use inputs::{Input, ORIGINALS, input, inputs};
use loadhook_rewrite::class::Member;
use loadhook_rewrite::text;
use loadhook_rewrite::{
    CallShape, ClassFile, Everything, Options, Outcome, Probes, Rewriter, Selector,
    UnknownCodeAttributes,
};

/// Options other than the default, each with a snapshot.
const OPTIONS: [&str; 6] = [
    "allow_huge_methods",
    "class_and_method",
    "count_with_others",
    "drop_unknown_code_attributes",
    "ids",
    "trace",
];

/// Compares `text` with the snapshot `name` in `snapshots`.
fn check(name: &str, text: &str) {
    check_in("../snapshots", name, text);
}

/// Compares `text` with the snapshot `name` in `folder`, which is relative to this file.
fn check_in(folder: &str, name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(folder);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

/// Runs `check` on each input. At the end, fails with the names of all inputs that did not pass.
fn each(check: impl Fn(&Input)) {
    let inputs = inputs();
    let failed: Vec<&str> = inputs
        .iter()
        .filter(|input| catch_unwind(AssertUnwindSafe(|| check(input))).is_err())
        .map(|input| input.name.as_str())
        .collect();
    assert!(
        failed.is_empty(),
        "{} inputs do not pass: {failed:#?}",
        failed.len()
    );
}

/// Returns the rewriter's report, and the rewritten class.
fn rewrite(input: &Input, options: Options, selector: &mut dyn Selector) -> (String, Vec<u8>) {
    let mut rewriter = Rewriter::new(options);
    let outcome = rewriter.rewrite(&input.bytes, selector, |len| Some(vec![0; len]));
    let class = ClassFile::parse(&input.bytes).unwrap();
    let method = |index: u16| {
        let method = class.methods().nth(usize::from(index)).unwrap();
        let (name, descriptor) = (method.name(), method.descriptor());
        format!("{}{}", text::display(name), text::display(descriptor))
    };
    let report = rewriter.report();
    let (with_code, instrumented) = (report.with_code, report.instrumented);
    let mut out = format!("report: {instrumented} of {with_code} methods instrumented\n");
    for left in &report.left_alone {
        let word = left.reason.word();
        let method = method(left.method);
        writeln!(out, "  left alone: {method}: {word}: {}", left.reason).unwrap();
    }
    for uncovered in &report.uncovered {
        let method = method(uncovered.method);
        writeln!(
            out,
            "  uncovered: {method}: {} instructions",
            uncovered.instructions
        )
        .unwrap();
    }
    match outcome.unwrap() {
        Outcome::Unchanged => {
            out.push_str("unchanged\n");
            (out, input.bytes.clone())
        }
        Outcome::Rewritten(bytes) => (out, bytes),
    }
}

fn golden(input: &Input, options: Options, selector: &mut dyn Selector) -> String {
    let (report, bytes) = rewrite(input, options, selector);
    if bytes == input.bytes {
        return report;
    }
    let text = without_old_pool(&full_text(&bytes), input, &bytes);
    format!("{report}\n{}", readable(input, &bytes, text))
}

/// Returns the report, and the text of only the rewritten `method`.
fn golden_method(
    input: &Input,
    method: &str,
    options: Options,
    selector: &mut dyn Selector,
) -> String {
    let (mut out, bytes) = rewrite(input, options, selector);
    text::print(&ClassFile::parse(&bytes).unwrap(), Some(method), &mut out).unwrap();
    out
}

/// A selector of the given probes in the methods with the given name.
struct Only {
    method: &'static str,
    probes: Probes,
}

impl Only {
    fn timed(method: &'static str, id: u32) -> Self {
        let probes = Probes {
            timing: Some(id),
            ..Probes::default()
        };
        Only { method, probes }
    }
}

impl Selector for Only {
    fn method(&mut self, method: &Member<'_, '_>) -> Probes {
        if method.name() == self.method.as_bytes() {
            self.probes
        } else {
            Probes::default()
        }
    }
}

#[test]
fn each_input_with_timing_and_object_probes_matches_its_snapshot() {
    each(|input| {
        let text = golden(input, Options::default(), &mut Everything::all(1));
        check(&input.name, &text);
    });
}

#[test]
fn each_input_with_count_probes_matches_its_snapshot() {
    each(|input| {
        let text = golden(input, Options::default(), &mut Everything::counts(1));
        check_in("../snapshots/count", &input.name, &text);
    });
}

/// Compares the originals of a few inputs with their snapshots. A reader can then compare the
/// original and the rewritten form. For other inputs, `javap` shows the original.
#[test]
fn texts_of_originals_match_their_snapshots() {
    for name in ORIGINALS {
        let input = input(name);
        let text = readable(&input, &input.bytes, full_text(&input.bytes));
        check(&format!("original.{name}"), &text);
    }
}

#[test]
fn each_input_is_copied_byte_for_byte() {
    each(|input| {
        let copy = Rewriter::default().copy(&input.bytes, |len| Some(vec![0; len]));
        let copy = match copy.unwrap() {
            Outcome::Unchanged => input.bytes.clone(),
            Outcome::Rewritten(bytes) => bytes,
        };
        assert!(copy == input.bytes, "the copy of {} differs", input.name);
    });
}

#[test]
fn probes_push_ids_of_every_size() {
    let input = input("handmade.max_stack_exact");
    let mut out = String::new();
    for id in [
        0,
        5,
        6,
        127,
        128,
        32_767,
        32_768,
        70_000,
        i32::MAX as u32,
        1 << 31,
        u32::MAX,
    ] {
        let mut selector = Only::timed("test", id);
        let text = golden_method(&input, "test", Options::default(), &mut selector);
        writeln!(out, "id {id}\n{text}").unwrap();
    }
    check("option.ids", &out);
}

#[test]
fn probes_pass_class_and_method_numbers() {
    let input = input("handmade.handler_nested_v52");
    let mut out = String::new();
    for (class, id) in [(0, 0), (5, 6), (70_000, 3), (u32::MAX, 70_000)] {
        let options = Options {
            owner: "java/lang/$Loadhook".into(),
            call_shape: CallShape::ClassAndMethod { class },
            ..Options::default()
        };
        let mut selector = Only::timed("test", id);
        let text = golden_method(&input, "test", options, &mut selector);
        writeln!(out, "class {class}, method {id}\n{text}").unwrap();
    }
    check("option.class_and_method", &out);
}

/// A method can have count probes and probes of other families. A method can also be counted only,
/// and be identified by a class number.
#[test]
fn probes_that_count_go_with_other_probes() {
    let [count, timing] = [Some(300), Some(70_000)];
    let counted = Probes {
        count,
        ..Probes::default()
    };
    let with_allocations = Probes {
        allocations: true,
        ..counted
    };
    let with_timing = Probes { timing, ..counted };
    let by_class = CallShape::ClassAndMethod { class: 9 };
    let mut out = String::new();
    for (label, input_name, method, probes, call_shape) in [
        (
            "count and allocations",
            "handmade.new_loop_v52",
            "test",
            with_allocations,
            CallShape::Id,
        ),
        (
            "count and timing",
            "handmade.handler_nested_v52",
            "test",
            with_timing,
            CallShape::Id,
        ),
        (
            "count and timing in a constructor",
            "ConstructorThrows",
            "<init>",
            with_timing,
            CallShape::Id,
        ),
        (
            "class 9",
            "handmade.max_stack_exact",
            "test",
            counted,
            by_class,
        ),
    ] {
        let options = Options {
            call_shape,
            ..Options::default()
        };
        let mut selector = Only { method, probes };
        let text = golden_method(&input(input_name), method, options, &mut selector);
        writeln!(out, "{label}: {input_name}\n{text}").unwrap();
    }
    check("option.count_with_others", &out);
}

/// The time of a method's entry is in a local variable. Every frame lists this variable.
#[test]
fn trace_probes_keep_the_time_in_a_local_variable() {
    let trace = Some(7);
    let alone = Probes {
        trace,
        ..Probes::default()
    };
    let with_all = Probes {
        timing: Some(8),
        allocations: true,
        ..alone
    };
    let with_values = Probes {
        values: true,
        ..alone
    };
    let mut out = String::new();
    for (label, input_name, method, probes) in [
        ("handlers", "handmade.handler_nested_v52", "test", alone),
        ("values", "handmade.handler_nested_v52", "test", with_values),
        (
            "values of a constructor",
            "ConstructorThrows",
            "<init>",
            with_values,
        ),
        ("a loop", "handmade.new_loop_v52", "test", alone),
        ("a constructor", "ConstructorThrows", "<init>", alone),
        ("with others", "handmade.new_loop_v52", "test", with_all),
    ] {
        let mut selector = Only { method, probes };
        let text = golden_method(
            &input(input_name),
            method,
            Options::default(),
            &mut selector,
        );
        writeln!(out, "{label}: {input_name}\n{text}").unwrap();
    }
    check("option.trace", &out);
}

#[test]
fn unknown_code_attributes_are_dropped_on_request() {
    let options = Options {
        unknown_code_attributes: UnknownCodeAttributes::Drop,
        ..Options::default()
    };
    let input = input("handmade.code_attribute_unknown");
    let text = golden(&input, options, &mut Everything::all(1));
    check("option.drop_unknown_code_attributes", &text);
}

#[test]
fn huge_methods_are_rewritten_on_request() {
    let options = Options {
        allow_huge_methods: true,
        ..Options::default()
    };
    let input = input("handmade.code_7990");
    let text = golden(&input, options, &mut Everything::all(1));
    check("option.allow_huge_methods", &text);
}

/// Reading and rewriting must not panic on an input that is cut off at any place, or that has any
/// one byte changed.
#[test]
fn damaged_inputs_cause_no_panic() {
    for name in ORIGINALS {
        let mut bytes = input(name).bytes;
        for at in 0..bytes.len() {
            let good = bytes[at];
            for byte in [0, good ^ 1, good ^ 0x80, 0xff] {
                bytes[at] = byte;
                if let Ok(class) = ClassFile::parse(&bytes) {
                    text::print(&class, None, &mut String::new()).unwrap();
                }
            }
            bytes[at] = good;
            assert!(ClassFile::parse(&bytes[..at]).is_err());
        }
    }
}

/// This test compares only file names, so it does not depend on the other tests.
#[test]
fn no_snapshot_is_left_over() {
    let inputs: BTreeSet<String> = inputs().into_iter().map(|input| input.name).collect();
    let mut wanted = inputs.clone();
    wanted.extend(ORIGINALS.iter().map(|name| format!("original.{name}")));
    wanted.extend(OPTIONS.iter().map(|name| format!("option.{name}")));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("snapshots");
    refuse_others(&folder, &wanted);
    refuse_others(&folder.join("count"), &inputs);
}

/// Fails if `folder` has a snapshot whose name is not in `wanted`.
fn refuse_others(folder: &Path, wanted: &BTreeSet<String>) {
    for file in folder.read_dir().unwrap() {
        let file = file.unwrap().file_name().into_string().unwrap();
        if let Some(name) = file.strip_suffix(".snap") {
            assert!(
                wanted.contains(name),
                "the snapshot {file} belongs to no input; delete it"
            );
        }
    }
}
