//! Tests of `loadhook hprof`, on files written by the rules of HPROF's manual, and of `loadhook run --hprof` and
//! `--jvmpi`.

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};

use common::{agent, done, folder, loadhook, run};

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
… 1 more row; --top N shows more
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
fn shows_the_list_of_jdk_1_1() {
    let folder = folder();
    let list =
        "count callee caller time\n7 A.add(I)V A.main()V 12\n1 A.main()V <unknown caller> 13\n";
    fs::write(folder.path().join("old.txt"), list).expect("the folder can be written");
    let shown = done(&mut loadhook(
        folder.path(),
        &["hprof", "old.txt", "--top=1"],
    ));
    let expected = "HPROF list of callees and callers (cpu=old)

CALLS · total 8
count callee caller time
7 A.add(I)V A.main()V 12
… 1 more row; --top N shows more
";
    shown.expect(0, expected, &[]);
}

/// Names and sentences are cut or folded, so that no line is wider than the terminal.
#[test]
fn lines_fit_into_80_columns() {
    let class = "com.example.organisation.department.project.shop.web.checkout.CheckoutController";
    let descriptor = class.replace('.', "/");
    let thread = "a-thread-of-the-pool-that-does-the-work-of-the-checkout-in-the-background-1";
    let text = format!(
        "JAVA PROFILE 1.0.1, created Wed Oct  7 11:38:10 1998

--------

THREAD START (obj=50000193, id = 200001, name=\"{thread}\", group=\"main\")
TRACE 300001: (thread=200001)
\t{class}.handleRequest(CheckoutController.java:1234)
\t{class}.handleRequestsOfAllCustomers(CheckoutController.java:5678)
WAIT: MONITOR L{descriptor};, timeout=0, thread 200001
SITES BEGIN (ordered by live bytes) Wed Oct  7 11:38:10 1998
          percent          live          alloc'ed  stack class
 rank   self  accum     bytes objs     bytes  objs trace name
    1 100.00% 100.00%   123456 1234    123456  1234 300001 {class}[]
SITES END
CPU SAMPLES BEGIN (total = 12) Wed Oct  7 11:38:10 1998
rank   self  accum   count trace method
   1 100.00% 100.00%      12 300001 {class}.handleRequest
CPU SAMPLES END
MONITOR DUMP BEGIN
    THREAD 200001, trace 300001, status: CW
    MONITOR L{descriptor};
\towner: thread 200001, entry count: 1
\twaiting to enter: thread 200001
\twaiting to be notified: thread 200001
MONITOR DUMP END
"
    );
    let list = format!(
        "count callee caller time\n12 {class}.handleRequest(Ljava/lang/String;)V {class}.handle()V 345\n"
    );
    let folder = folder();
    let path = folder.path();
    fs::write(path.join("wide.txt"), text).expect("the folder can be written");
    fs::write(path.join("old.txt"), list).expect("the folder can be written");
    let in_80 = |arguments: &[&str]| {
        let shown = done(loadhook(path, arguments).env("COLUMNS", "80"));
        assert_eq!(shown.code, Some(0), "{}", shown.err);
        for line in shown.out.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        shown.out
    };
    let shown = in_80(&["hprof", "wide.txt", "--traces"]);
    for line in [
        "    1 100.00% 100.00%    123456 1234    123456  1234 300001 …heckoutController[]\n",
        "   1 100.00% 100.00%      12 300001 com.…CheckoutController.handleRequest\n",
        "        com.…CheckoutController.handleRequest(CheckoutController.java:1234)\n",
        "        com.…web.checkout.CheckoutController.handleRequestsOfAllCustomers:5678\n",
        "        in a-thread-of-the-pool-that-does-the-work-of-the-checkout-in-the-backg…\n",
    ] {
        assert!(shown.contains(line), "{line}{shown}");
    }
    let list = in_80(&["hprof", "old.txt"]);
    assert!(list.contains("\n12 ") && list.ends_with(" 345\n"), "{list}");
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
            "line 14, column 1: the file is cut off: `CPU SAMPLES END` is missing",
        ),
        (
            "bad.txt",
            &garbage,
            "line 14, column 7: this is not a valid row of the table",
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

/// `loadhook run --hprof` passes the options to the agent, and `loadhook hprof` can read the file.
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

/// Starts `loadhook hprof listen` at a free port. Returns the process, its messages, and the address.
fn listen(folder: &Path, send: &[&str]) -> (Child, impl BufRead, String) {
    let mut command = loadhook(folder, &["hprof", "listen", "0", "-o", "out.hprof"]);
    command
        .args(send)
        .stdin(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command starts");
    let mut said = BufReader::new(child.stderr.take().expect("standard error is a pipe"));
    let mut line = String::new();
    said.read_line(&mut line).expect("the message is UTF-8");
    let address = line.trim_end().rsplit_once('=').expect("an address").1;
    let address = address.to_owned();
    (child, said, address)
}

fn stream() -> Vec<u8> {
    let mut stream = Vec::new();
    let header = loadhook_hprof::Header {
        id_size: 8,
        time_ms: 0,
    };
    let writer = loadhook_hprof::Writer::new(&mut stream, header);
    let end = writer.and_then(loadhook_hprof::Writer::finish);
    end.expect("writing to memory cannot fail");
    stream
}

/// The program's stream is written to a file, and the commands go to the program. A client that sends no stream is
/// turned away.
#[test]
fn a_stream_is_taken_into_a_file() {
    let folder = folder();
    let (mut child, mut said, address) = listen(folder.path(), &["--send=summary", "--send=end"]);
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    let mut other = TcpStream::connect(&address).expect("it listens");
    other
        .write_all(b"GET / HTTP/1.1\r\n\r\n")
        .expect("the connection is open");
    let mut program = TcpStream::connect(&address).expect("it listens");
    let stream = stream();
    program.write_all(&stream[..20]).expect("it reads");
    let mut commands = [0; 10];
    program.read_exact(&mut commands).expect("commands come");
    assert_eq!(commands, [4, 0, 0, 0, 1, 0, 0, 0, 0, 0xff]);
    program.write_all(&stream[20..]).expect("it reads");
    drop(program);
    assert!(child.wait().expect("the command ends").success());
    let mut text = String::new();
    said.read_to_string(&mut text).expect("messages are UTF-8");
    for part in [
        "is no program with the option net=",
        "out.hprof: ",
        "hprof out.hprof shows it",
    ] {
        assert!(text.contains(part), "{text}");
    }
    let file = fs::read(folder.path().join("out.hprof")).expect("there is a file");
    assert_eq!(file, stream);
    let files = fs::read_dir(folder.path()).expect("the folder is readable");
    assert_eq!(files.count(), 1);
}

/// After a signal, the file has what the stream has sent so far.
#[test]
fn an_interrupted_stream_is_kept() {
    let folder = folder();
    let (mut child, mut said, address) = listen(folder.path(), &["--send=heap"]);
    let mut program = TcpStream::connect(&address).expect("it listens");
    let stream = stream();
    program.write_all(&stream).expect("it reads");
    program.read_exact(&mut [0; 9]).expect("a command comes");
    let length = || {
        let mut files = fs::read_dir(folder.path()).expect("the folder is readable");
        let file = files.next()?.ok()?;
        file.metadata().ok().map(|metadata| metadata.len())
    };
    while length() != Some(stream.len() as u64) {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
    assert_eq!(child.wait().expect("the command ends").code(), Some(1));
    let mut text = String::new();
    said.read_to_string(&mut text).expect("messages are UTF-8");
    assert!(
        text.contains("the stream, and so the file, ended too early: it was interrupted"),
        "{text}"
    );
    let file = fs::read(folder.path().join("out.hprof")).expect("there is a file");
    assert_eq!(file, stream);
}

#[test]
fn unknown_commands_are_refused() {
    let folder = folder();
    let arguments = ["hprof", "listen", "0", "-o", "x", "--send", "dump"];
    let refused = done(&mut loadhook(folder.path(), &arguments));
    refused.expect(2, "", &["the commands are gc, heap, sites"]);
}

#[test]
fn a_profiler_of_jvmpi_must_be_there() {
    let folder = folder();
    let missing = done(&mut run(
        folder.path(),
        &["--jvmpi", "./libold.so=cpu=samples"],
        &["serve"],
    ));
    let told = ["--jvmpi ./libold.so: give the path of the profiler's library"];
    missing.expect(1, "", &told);
}

#[test]
fn a_profiler_of_jvmpi_may_see_virtual_threads() {
    let folder = folder();
    fs::write(folder.path().join("libold.so"), "").expect("a file");
    // No JVM loads the layer here; it must only be there.
    fs::write(agent().with_file_name("libloadhook_jvmpi.so"), "").expect("a file");
    let mut command = loadhook(folder.path(), &["run", "--virtual-threads"]);
    command.args([
        "--jvmpi",
        "./libold.so=a,b",
        "--",
        "printenv",
        "JAVA_TOOL_OPTIONS",
    ]);
    let done = done(&mut command);
    assert!(
        done.out.contains("libold.so,virtual=threads,opts=a,b"),
        "{}{}",
        done.out,
        done.err
    );
}
