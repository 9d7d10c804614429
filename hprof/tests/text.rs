//! Tests of reading texts: forms of several versions of HPROF, and faults with their places.

use loadhook_hprof::StackFrame;
use loadhook_hprof::text::{Amount, Frame, Line, Reader, Site, TextError};

/// Returns a text with `lines` after the header.
fn text(lines: &str) -> String {
    format!(
        "JAVA PROFILE 1.0.1, created Wed Oct  7 11:38:10 1998\n\nSITES END\n\n--------\n\n{lines}"
    )
}

fn read(text: &str) -> Result<Vec<Line>, TextError> {
    let mut reader = Reader::new(text.as_bytes())?;
    let mut lines = Vec::new();
    while let Some(line) = reader.next_line()? {
        lines.push(line);
    }
    Ok(lines)
}

fn frame(of: &str) -> Frame {
    let lines = read(&text(&format!("TRACE 1:\n\t{of}\n"))).expect("the text is right");
    match lines.last() {
        Some(Line::Frame(frame)) => frame.clone(),
        other => panic!("{of}: {other:?}"),
    }
}

#[test]
fn frames_of_all_versions_are_read() {
    let expected = |source: Option<&str>, line| Frame {
        class: "a.B$C".to_owned(),
        method: "<init>".to_owned(),
        source: source.map(str::to_owned),
        line,
    };
    for (place, source, line) in [
        ("B.java:12", Some("B.java"), 12),
        (
            "B.java:Unknown line",
            Some("B.java"),
            StackFrame::UNKNOWN_LINE,
        ),
        (
            "B.java:Native method",
            Some("B.java"),
            StackFrame::NATIVE_METHOD,
        ),
        (
            "B.java:Compiled method",
            Some("B.java"),
            StackFrame::COMPILED_METHOD,
        ),
        (
            "<Unknown Source>:Unknown line",
            None,
            StackFrame::UNKNOWN_LINE,
        ),
        ("Unknown Source", None, StackFrame::UNKNOWN_LINE),
        ("Native Method", None, StackFrame::NATIVE_METHOD),
        ("B.java", Some("B.java"), StackFrame::UNKNOWN_LINE),
    ] {
        let read = frame(&format!("a.B$C.<init>({place})"));
        assert_eq!(read, expected(source, line), "{place}");
    }
    let kotlin = frame("a.Test.two (or three) words(Test.kt:7)");
    assert_eq!(kotlin.method, "two (or three) words");
    assert_eq!(kotlin.source.as_deref(), Some("Test.kt"));
}

#[test]
fn decimal_commas_and_other_columns_are_read() {
    let row = "   2 12,44% 100,00%  123  4  456 78  91 char []\r\n";
    let sites = format!(
        "SITES BEGIN (ordered by live bytes) Wed Oct  7 11:38:10 1998\r
        percent        live       alloc'ed    stack class\r
rank  self  accum   bytes objs   bytes   objs trace name\r
{row}SITES END\r\n"
    );
    let lines = read(&text(&sites)).expect("the text is right");
    let amount = |bytes, objects| Amount {
        bytes: Some(bytes),
        objects: Some(objects),
    };
    let site = Site {
        rank: 2,
        own: 12.44,
        accumulated: 100.0,
        live: amount(123, 4),
        allocated: amount(456, 78),
        trace: 91,
        class: "char []".to_owned(),
    };
    assert_eq!(lines[1], Line::Site(site));
    assert_eq!(lines.len(), 3);
}

#[test]
fn faults_have_their_places() {
    let heap = "HEAP DUMP BEGIN (1 objects, 16 bytes) now\nOBJ 1 (sz=16, trace=1, class=A@2)\n";
    for (lines, expected) in [
        (
            "garbage\n",
            "line 7, column 1: this is not a valid line of HPROF's text",
        ),
        (
            "THREAD END (id = x)\n",
            "line 7, column 18: this is not a valid `THREAD END` line",
        ),
        (
            "TRACE 1:\n\tno place\n",
            "line 8, column 2: this is not a valid frame of a trace",
        ),
        (
            "CPU SAMPLES BEGIN (total = 1) now\n   1 10.00% 10.00% x 1 A.b\n",
            "line 8, column 20: this is not a valid row of the table",
        ),
        (
            "CPU TIME (ms) BEGIN (total = 1) now\n",
            "line 7, column 1: the file is cut off: `CPU TIME (ms) END` is missing",
        ),
        (
            &format!("{heap}\tfield\t\tq\n"),
            "line 9, column 9: this is not a valid reference of a heap dump",
        ),
        (
            &format!("{heap}\tfield"),
            "line 9, column 2: the file is cut off: the rest of the line is missing",
        ),
        (
            heap,
            "line 8, column 1: the file is cut off: `HEAP DUMP END` is missing",
        ),
    ] {
        let error = read(&text(lines)).expect_err("the text is faulty");
        assert_eq!(error.to_string(), expected, "{lines}");
    }
    for (whole, expected) in [
        (
            "",
            "line 0, column 1: not HPROF's text: it does not begin with `JAVA PROFILE 1.0.1, created`",
        ),
        (
            "JAVA PROFILE 1.0.1, created now\nmore\n",
            "line 2, column 1: the file is cut off: `--------` is missing",
        ),
    ] {
        let error = read(whole).expect_err("the text is faulty").to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    let long = format!("{}\n", "x".repeat(2 << 20));
    let error = read(&text(&long))
        .expect_err("the line is long")
        .to_string();
    assert!(
        error.starts_with("line 7, column 1048577: the line is longer than 1048576 bytes"),
        "{error}"
    );
}
