//! Tests of `loadhook hprof`, on texts written after the manual, and of `loadhook run --hprof`.

mod common;

use std::fs;

use common::{done, folder, loadhook, run};

const TEXT: &str = "JAVA PROFILE 1.0.1, created Wed Oct  7 11:38:10 1998

--------

THREAD START (obj=50000193, id = 200001, name=\"ma\u{1b}[2Jin\", group=\"main\")
TRACE 300001: (thread=200001)
\tshop.Cart.add(Cart.java:12)
TRACE 300002:
\t<empty>
CPU SAMPLES BEGIN (total = 12) Wed Oct  7 11:38:10 1998
rank   self  accum   count trace method
   1 75.00% 75.00%       9 300001 shop.Cart.add
   2 16.67% 91.67%       2 300002 <empty trace>
   3  8.33% 100.00%       1 300003 shop.Cart.pay
CPU SAMPLES END
";

#[test]
fn shows_a_text() {
    let folder = folder();
    let path = folder.path();
    fs::write(path.join("java.hprof.txt"), TEXT).expect("the folder can be written");
    let shown = done(&mut loadhook(
        path,
        &["hprof", "java.hprof.txt", "--top", "2"],
    ));
    let expected = "HPROF text · created Wed Oct  7 11:38:10 1998
threads: 1, ended: 0 · traces: 2

CPU SAMPLES · total 12 samples · Wed Oct  7 11:38:10 1998
rank   self  accum   count trace method
   1 75.00% 75.00%       9 300001 shop.Cart.add
   2 16.67% 91.67%       2 300002 <empty trace>
… 1 more row; --top shows more
";
    assert_eq!(shown.out, expected);
    let warning =
        "warning: java.hprof.txt: CPU SAMPLES names trace 300003, which the file does not have";
    assert_eq!((shown.code, shown.err.trim_end()), (Some(0), warning));
    let traces = done(&mut loadhook(
        path,
        &["hprof", "java.hprof.txt", "--traces"],
    ));
    let frames =
        "300001 shop.Cart.add\n        in ma\\u{1b}[2Jin\n        shop.Cart.add(Cart.java:12)\n";
    assert!(traces.out.contains(frames), "{}", traces.out);
}

#[test]
fn faults_are_placed_and_the_part_before_them_is_shown() {
    let folder = folder();
    let path = folder.path();
    let cut = TEXT.trim_end_matches("CPU SAMPLES END\n");
    let garbage = TEXT.replace("   3  8.33%", "   3  8.x3%");
    for (name, text, error) in [
        (
            "cut.txt",
            cut,
            "the file is cut off: it ends before `CPU SAMPLES END` in line 14, column 1",
        ),
        (
            "bad.txt",
            &garbage,
            "this is not a row of this table in line 14, column 7",
        ),
    ] {
        fs::write(path.join(name), text).expect("the folder can be written");
        let shown = done(&mut loadhook(path, &["hprof", name]));
        assert_eq!(shown.code, Some(1));
        assert!(
            shown.out.contains("9 300001 shop.Cart.add"),
            "{}",
            shown.out
        );
        assert!(
            shown.err.ends_with(&format!("error: {name}: {error}\n")),
            "{}",
            shown.err
        );
    }
    fs::write(path.join("other"), "PK").expect("the folder can be written");
    let shown = done(&mut loadhook(path, &["hprof", "other"]));
    assert_eq!((shown.code, shown.out.as_str()), (Some(1), ""));
    assert!(
        shown
            .err
            .starts_with("error: other: not a heap dump: it does not begin with `JAVA PROFILE"),
        "{}",
        shown.err
    );
    let shown = done(&mut loadhook(path, &["hprof", "."]));
    assert!(
        shown
            .err
            .contains("error: .: this is a folder; give a file of HPROF in it"),
        "{}",
        shown.err
    );
}

/// The options reach the agent, and the file can be read.
#[test]
fn a_command_runs_with_the_options_of_hprof() {
    let folder = folder();
    let path = folder.path();
    let options = "cpu=times,depth=1,cutoff=0,format=b,file=out.hprof";
    let ran = done(&mut run(path, &["--hprof", options], &["serve"]));
    let said = ["profile written to out.hprof"];
    ran.expect(0, "served 77461611\n", &said);
    let shown = done(&mut loadhook(
        path,
        &["hprof", "out.hprof", "--top", "100000"],
    ));
    assert_eq!(shown.code, Some(0), "{}", shown.err);
    assert!(
        shown.out.contains("\nCPU TIME (ms) · total "),
        "{}",
        shown.out
    );
    let mut rows = shown.out.lines();
    let row = rows.find(|row| row.ends_with(" shop.Shop$Order.<init>"));
    let count = row.and_then(|row| row.split_whitespace().nth(3));
    assert_eq!(count, Some("1500"), "{row:?}");
    let help = done(&mut run(path, &["--hprof", "help"], &["serve"]));
    assert_eq!((help.code, help.err.as_str()), (Some(0), ""));
    assert!(help.out.contains("heap=dump|sites|all") && !help.out.contains("served"));
    let wrong = done(&mut run(path, &["--hprof", "cpu=fast"], &["serve"]));
    assert!(
        wrong.code != Some(0) && wrong.out.is_empty(),
        "{}",
        wrong.out
    );
    let fault = "hprof: cpu=fast: expected samples, times or old";
    assert!(wrong.err.contains(fault), "{}", wrong.err);
}
