//! Tests of `loadhook heap FILE` with files that are no dumps, cut-off dumps, and pipes.

mod common;

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use common::{Done, done, executable, folder, in_environment, loadhook};
use flate2::Compression;
use flate2::write::GzEncoder;
use loadhook_profile::Profile;
use loadhook_profile::format::pprof;
use loadhook_testkit::dump::Writer;
use loadhook_testkit::process;

/// A dump without objects.
fn nothing() -> Vec<u8> {
    let mut dump = b"JAVA PROFILE 1.0.2\0\0\0\0\x08\0\0\0\0\0\0\0\0".to_vec();
    dump.extend([0x2c, 0, 0, 0, 0, 0, 0, 0, 0]);
    dump
}

fn heap(folder: &Path, arguments: &[&str]) -> Done {
    done(&mut loadhook(folder, &[&["heap"], arguments].concat()))
}

/// Checks that the error is one line with this text, and the exit code 1.
fn fails(shown: &Done, with: &str) {
    assert_eq!((shown.code, &*shown.out), (Some(1), ""), "{}", shown.err);
    assert_eq!(shown.err.lines().count(), 1, "{}", shown.err);
    assert!(shown.err.contains(with), "{}: not {with}", shown.err);
}

#[test]
fn files_that_are_no_dumps_are_refused_in_a_line() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("empty"), "").expect("write test file");
    fs::write(at("core"), [b"\x7fELF\x02\x01\x01", &[0; 900][..]].concat())
        .expect("write test file");
    fs::write(at("some.jar"), [b"PK\x03\x04", &[7; 900][..]].concat()).expect("write test file");
    fs::create_dir(at("folder")).expect("create test folder");
    let mut profile = Vec::new();
    pprof::write(&Profile::default(), &mut profile).expect("write profile to memory");
    fs::write(at("profile"), profile).expect("write test file");
    let none = "not a heap dump: it does not begin with `JAVA PROFILE 1.0.1` or `1.0.2` at byte 0; \
                loadhook heap PID -o FILE dumps a running JVM";
    for (file, says) in [
        (
            "empty",
            "empty: not a heap dump: the file is empty at byte 0; loadhook heap PID",
        ),
        ("core", none),
        ("some.jar", none),
        ("folder", "folder: a folder; give a heap dump file"),
        ("missing", "missing: No such file or directory"),
        (
            "profile",
            "profile: a profile, not a heap dump; to show it: loadhook report profile",
        ),
    ] {
        fails(&heap(folder.path(), &[file]), says);
        fails(&heap(folder.path(), &[file, "--biggest"]), says);
    }
}

#[test]
fn a_dump_is_refused_as_a_profile() {
    let folder = folder();
    fs::write(folder.path().join("a dump"), nothing()).expect("write test file");
    let report = done(&mut loadhook(folder.path(), &["report", "a dump"]));
    fails(
        &report,
        "a dump: a heap dump, not a profile; to show it: loadhook heap 'a dump'",
    );
}

#[test]
fn unreadable_files_are_refused_in_a_line() {
    let folder = folder();
    let file = folder.path().join("secret.hprof");
    fs::write(&file, nothing()).expect("write test file");
    fs::set_permissions(&file, Permissions::from_mode(0o000)).expect("set permissions");
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("set permissions");
    let mut command = loadhook(folder.path(), &["heap", "secret.hprof"]);
    if fs::read(&file).is_ok() {
        // Root may read every file, so the command runs as the user `nobody`, who needs a readable
        // copy of the program.
        let program = folder.path().join("loadhook");
        executable(env!("CARGO_BIN_EXE_loadhook").as_ref(), &program);
        command = Command::new(program);
        command.args(["heap", "secret.hprof"]);
        command.current_dir(folder.path()).uid(65_534).gid(65_534);
    }
    fails(&done(&mut command), "secret.hprof: Permission denied");
}

#[test]
fn a_pipe_can_be_read_once() {
    let folder = folder();
    for (arguments, works) in [
        (&["/dev/stdin"][..], true),
        (&["/dev/stdin", "--biggest"], false),
    ] {
        let mut command = loadhook(folder.path(), &[&["heap"], arguments].concat());
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("the process starts");
        let mut input = child.stdin.take().expect("a pipe");
        // The command may refuse the pipe before everything is written.
        let _ = input.write_all(&nothing());
        drop(input);
        let output = process::end(child).expect("the process ends");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), works, "{said}");
        let refusal = "/dev/stdin: not a regular file; heap dumps are read more than once, so save it to a file first";
        assert_eq!(said.contains(refusal), !works, "{said}");
    }
}

#[test]
fn a_cut_in_the_last_bytes_of_a_packed_file_is_reported() {
    let folder = folder();
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    packer.write_all(&nothing()).expect("write to memory");
    let packed = packer.finish().expect("write to memory");
    let file = folder.path().join("heap.hprof.gz");
    fs::write(&file, &packed).expect("write test file");
    assert_eq!(heap(folder.path(), &["heap.hprof.gz"]).code, Some(0));
    fs::write(&file, &packed[..packed.len() - 4]).expect("write test file");
    let cut = "the dump is cut off: it ends in the gzip data at byte 40";
    fails(&heap(folder.path(), &["heap.hprof.gz"]), cut);
    fails(&heap(folder.path(), &["heap.hprof.gz", "--biggest"]), cut);
}

/// As gzip does, the command unpacks the data and warns of the trailing bytes.
#[test]
fn bytes_behind_a_compressed_dump_are_ignored_with_a_warning() {
    let folder = folder();
    let packed = |bytes: &[u8]| {
        let mut packer = GzEncoder::new(Vec::new(), Compression::default());
        packer.write_all(bytes).expect("write to memory");
        packer.finish().expect("write to memory")
    };
    let dump = nothing();
    let whole = packed(&dump);
    let members = [packed(&dump[..20]), packed(&dump[20..])].concat();
    let file = folder.path().join("heap.hprof.gz");
    for views in [&[][..], &["--biggest"], &["--duplicates"], &["--threads"]] {
        let options = [&["heap.hprof.gz"], views].concat();
        let zeros = [0; 1 << 18];
        let behind_zeros = [&zeros[..], b"x"].concat();
        for more in [&b"x"[..], b"more than a member's head", &behind_zeros] {
            for whole in [&whole, &members] {
                fs::write(&file, [whole, more].concat()).expect("write test file");
                let shown = heap(folder.path(), &options);
                let warning =
                    "warning: heap.hprof.gz: the bytes that follow the gzip data are ignored\n";
                assert_eq!((shown.code, &*shown.err), (Some(0), warning), "{views:?}");
            }
        }
        // Zeros behind the data give no warning, since they fill the last block of a tape.
        for more in [&[][..], &[0], &zeros] {
            fs::write(&file, [&members, more].concat()).expect("write test file");
            let shown = heap(folder.path(), &options);
            assert_eq!((shown.code, &*shown.err), (Some(0), ""), "{views:?}");
        }
    }
    // A dump that is cut off inside gives both warnings.
    fs::write(&file, [&packed(&dump[..35])[..], b"more"].concat()).expect("write test file");
    let shown = heap(folder.path(), &["heap.hprof.gz"]);
    assert_eq!((shown.code, &*shown.out), (Some(1), ""));
    for says in [
        "the bytes that follow the gzip data are ignored",
        "the dump is cut off: it ends in a record",
    ] {
        assert!(shown.err.contains(says), "{}", shown.err);
    }
    // Bytes that begin like a gzip member must be one.
    fs::write(
        &file,
        [&whole[..], b"\x1f\x8b\xff no method of packing"].concat(),
    )
    .expect("write test file");
    fails(
        &heap(folder.path(), &["heap.hprof.gz"]),
        "invalid gzip header at byte 40",
    );
}

/// Another user who can write to the folder may have put a link there.
#[test]
fn a_report_follows_no_planted_link() {
    let folder = folder();
    fs::write(folder.path().join("a.hprof"), nothing()).expect("write test file");
    fs::write(folder.path().join("victim"), "as it was").expect("write test file");
    let script = "ln -s victim out.json.$$.tmp; exec \"$0\" heap a.hprof --format json -o out.json";
    let mut command = in_environment("sh".as_ref(), folder.path());
    command
        .args(["-c", script])
        .arg(env!("CARGO_BIN_EXE_loadhook"));
    done(&mut command).expect(0, "", &[]);
    let at = |name: &str| folder.path().join(name);
    assert_eq!(
        fs::read(at("victim")).expect("read test file"),
        b"as it was"
    );
    assert!(
        fs::symlink_metadata(at("out.json"))
            .expect("read metadata")
            .is_file()
    );
    // Missing folders are created.
    let options = ["heap", "a.hprof", "-o", "x/y/out.txt"];
    done(&mut loadhook(folder.path(), &options)).expect(0, "", &[]);
    assert!(at("x/y/out.txt").is_file());

    let options = ["heap", "none.hprof", "-o", "z/y/out.txt"];
    let failed = done(&mut loadhook(folder.path(), &options));
    assert_eq!(failed.code, Some(1), "{}", failed.err);
    assert!(!folder.path().join("z").exists(), "a folder is left");
}

/// The size of files is limited with `ulimit -f`.
#[test]
fn a_limit_on_the_size_of_files_causes_an_error() {
    let folder = folder();
    fs::write(folder.path().join("a.hprof"), nothing()).expect("write test file");
    let script = "ulimit -f 0; exec \"$0\" heap a.hprof --format json -o out.json";
    let mut command = in_environment("sh".as_ref(), folder.path());
    command
        .args(["-c", script])
        .arg(env!("CARGO_BIN_EXE_loadhook"));
    fails(&done(&mut command), "out.json: File too large");
    let left: Vec<_> = fs::read_dir(folder.path())
        .expect("list test folder")
        .collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

/// Kilobytes of address space that the command uses while it reads a dump without objects.
fn address_space(folder: &Path) -> u64 {
    let mut command = loadhook(folder, &["heap", "/dev/stdin"]);
    let streams = command.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = streams
        .stderr(Stdio::null())
        .spawn()
        .expect("the process starts");
    let mut input = child.stdin.take().expect("a pipe");
    // Writes more bytes than a pipe buffers, of a longer record. So the command is reading when the
    // write returns.
    let record = [&[0x7f, 0, 0, 0, 0][..], &(4_u32 << 20).to_be_bytes()].concat();
    let dump = [&nothing()[..31], &record, &[0; 1 << 20]].concat();
    input.write_all(&dump).expect("the command reads the pipe");
    let status =
        fs::read_to_string(format!("/proc/{}/status", child.id())).expect("read test file");
    drop(input);
    process::end(child).expect("the process ends");
    let size = status.lines().find_map(|line| line.strip_prefix("VmSize:"));
    let size = size.and_then(|size| size.split_whitespace().next()?.parse().ok());
    size.expect("a number")
}

/// The address space is limited with `ulimit -v`. The graph goes to the disk, and the command
/// refuses a dump whose other data does not fit.
#[test]
fn a_process_with_little_address_space_fails_with_a_line() {
    let folder = folder();
    let mut writer = Writer::new();
    let objects = 400_000;
    for at in 0..objects {
        let next = 0x10_0000 + 32 * ((at * 7919) % objects);
        writer.pair(0x10_0000 + 32 * at, next, 0);
    }
    writer.root(0x03, 0x10_0000, &[1, 0]);
    fs::write(folder.path().join("graph.hprof"), writer.finish()).expect("write test file");
    let mut writer = Writer::new();
    for at in 0..300_000 {
        writer.class(0x10_0000 + 32 * at, 0, &[], &[]);
        writer.root(0x03, 0x10_0000 + 32 * at, &[1, 0]);
    }
    fs::write(folder.path().join("classes.hprof"), writer.finish()).expect("write test file");
    let limited = |file: &str, view: &str, kilobytes: u64| {
        let mut command = in_environment("sh".as_ref(), folder.path());
        let script = format!("ulimit -v {kilobytes}; exec \"$0\" heap {file} --top 1 {view}");
        command.args(["-c", &script]);
        done(command.arg(env!("CARGO_BIN_EXE_loadhook")))
    };
    let own = address_space(folder.path());
    for view in [
        "",
        "--biggest",
        "--path 0x100000",
        "--duplicates",
        "--threads",
    ] {
        // The first limit has room for the whole graph, the second for a part of it.
        let all = limited("graph.hprof", view, 4 << 20);
        let part = limited("graph.hprof", view, own + (40 << 10));
        assert_eq!((part.code, &*part.err), (Some(0), ""), "{view}");
        assert_eq!(part.out, all.out, "{view}");
        for megabytes in [30, 50, 90, 140, 190, 240, 640] {
            let none = limited("classes.hprof", view, own + (megabytes << 10));
            let has_room = none.code == Some(0);
            let is_refused = none.code == Some(1) && none.err.contains(" memory");
            let fits = match megabytes {
                30 => is_refused,
                640 => has_room,
                _ => has_room || is_refused,
            };
            assert!(fits, "{view} {megabytes}: {}", none.err);
        }
    }
}
