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

/// Makes a dump without objects.
fn nothing() -> Vec<u8> {
    let mut dump = b"JAVA PROFILE 1.0.2\0\0\0\0\x08\0\0\0\0\0\0\0\0".to_vec();
    dump.extend([0x2c, 0, 0, 0, 0, 0, 0, 0, 0]);
    dump
}

fn heap(folder: &Path, arguments: &[&str]) -> Done {
    done(&mut loadhook(folder, &[&["heap"], arguments].concat()))
}

/// Checks that the command printed one line that contains `with`, and ended with exit code 1.
fn fails(shown: &Done, with: &str) {
    assert_eq!((shown.code, &*shown.out), (Some(1), ""), "{}", shown.err);
    assert_eq!(shown.err.lines().count(), 1, "{}", shown.err);
    assert!(
        shown.err.contains(with),
        "`{with}` expected in: {}",
        shown.err
    );
}

#[test]
fn files_that_are_no_dumps_are_refused_in_a_line() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("empty"), "").expect("the test file can be written");
    fs::write(at("core"), [b"\x7fELF\x02\x01\x01", &[0; 900][..]].concat())
        .expect("the test file can be written");
    fs::write(at("some.jar"), [b"PK\x03\x04", &[7; 900][..]].concat())
        .expect("the test file can be written");
    fs::create_dir(at("folder")).expect("the test folder can be created");
    let mut profile = Vec::new();
    pprof::write(&Profile::default(), &mut profile).expect("writing to memory cannot fail");
    fs::write(at("profile"), profile).expect("the test file can be written");
    let none = "not a heap dump: it does not begin with `JAVA PROFILE 1.0.1` or `1.0.2` at byte 0; \
                loadhook heap PID -o FILE dumps a running JVM";
    for (file, says) in [
        (
            "empty",
            "empty: not a heap dump: the file is empty at byte 0; loadhook heap PID",
        ),
        ("core", none),
        ("some.jar", none),
        ("folder", "folder: this is a folder; give a heap dump in it"),
        ("missing", "missing: no such file in /"),
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
    fs::write(folder.path().join("a dump"), nothing()).expect("the test file can be written");
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
    fs::write(&file, nothing()).expect("the test file can be written");
    fs::set_permissions(&file, Permissions::from_mode(0o000)).expect("the permissions can be set");
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755))
        .expect("the permissions can be set");
    let mut command = loadhook(folder.path(), &["heap", "secret.hprof"]);
    if fs::read(&file).is_ok() {
        // Root may read every file. So the command runs as the user `nobody`, who needs a copy of
        // the program that it can read.
        let program = folder.path().join("loadhook");
        executable(env!("CARGO_BIN_EXE_loadhook").as_ref(), &program);
        command = Command::new(program);
        command.args(["heap", "secret.hprof"]);
        command.current_dir(folder.path()).uid(65_534).gid(65_534);
    }
    fails(
        &done(&mut command),
        "secret.hprof: no permission to read this file; ",
    );
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
        let mut input = child.stdin.take().expect("the stream is a pipe");
        // This write may fail: the command may refuse the pipe before it has read everything.
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
    packer
        .write_all(&nothing())
        .expect("writing to memory cannot fail");
    let packed = packer.finish().expect("writing to memory cannot fail");
    let file = folder.path().join("heap.hprof.gz");
    fs::write(&file, &packed).expect("the test file can be written");
    assert_eq!(heap(folder.path(), &["heap.hprof.gz"]).code, Some(0));
    fs::write(&file, &packed[..packed.len() - 4]).expect("the test file can be written");
    let cut = "the dump is cut off: it ends in the gzip data at byte 40";
    fails(&heap(folder.path(), &["heap.hprof.gz"]), cut);
    fails(&heap(folder.path(), &["heap.hprof.gz", "--biggest"]), cut);
}

/// Like gzip, the command unpacks the data and warns about bytes behind the data.
#[test]
fn bytes_behind_a_compressed_dump_are_ignored_with_a_warning() {
    let folder = folder();
    let packed = |bytes: &[u8]| {
        let mut packer = GzEncoder::new(Vec::new(), Compression::default());
        packer
            .write_all(bytes)
            .expect("writing to memory cannot fail");
        packer.finish().expect("writing to memory cannot fail")
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
                fs::write(&file, [whole, more].concat()).expect("the test file can be written");
                let shown = heap(folder.path(), &options);
                let warning =
                    "warning: heap.hprof.gz: the bytes that follow the gzip data are ignored\n";
                assert_eq!((shown.code, &*shown.err), (Some(0), warning), "{views:?}");
            }
        }
        // Zeros after the data cause no warning, because tapes pad their last block with zeros.
        for more in [&[][..], &[0], &zeros] {
            fs::write(&file, [&members, more].concat()).expect("the test file can be written");
            let shown = heap(folder.path(), &options);
            assert_eq!((shown.code, &*shown.err), (Some(0), ""), "{views:?}");
        }
    }
    // If the dump itself is cut off, too, both warnings are printed.
    fs::write(&file, [&packed(&dump[..35])[..], b"more"].concat())
        .expect("the test file can be written");
    let shown = heap(folder.path(), &["heap.hprof.gz"]);
    assert_eq!((shown.code, &*shown.out), (Some(1), ""));
    for says in [
        "the bytes that follow the gzip data are ignored",
        "the dump is cut off: it ends in a record",
    ] {
        assert!(shown.err.contains(says), "{}", shown.err);
    }
    // If the bytes after the data begin like a gzip member, they are read as a member. This one is not valid.
    fs::write(
        &file,
        [&whole[..], b"\x1f\x8b\xff no method of packing"].concat(),
    )
    .expect("the test file can be written");
    fails(
        &heap(folder.path(), &["heap.hprof.gz"]),
        "invalid gzip header at byte 40",
    );
}

/// The output must not be written through a link: another user who can write to the folder may have
/// put it there.
#[test]
fn a_report_follows_no_planted_link() {
    let folder = folder();
    fs::write(folder.path().join("a.hprof"), nothing()).expect("the test file can be written");
    fs::write(folder.path().join("victim"), "as it was").expect("the test file can be written");
    let script = "ln -s victim out.json.$$.tmp; exec \"$0\" heap a.hprof --format json -o out.json";
    let mut command = in_environment("sh".as_ref(), folder.path());
    command
        .args(["-c", script])
        .arg(env!("CARGO_BIN_EXE_loadhook"));
    done(&mut command).expect(0, "", &[]);
    let at = |name: &str| folder.path().join(name);
    assert_eq!(
        fs::read(at("victim")).expect("the test file can be read"),
        b"as it was"
    );
    assert!(
        fs::symlink_metadata(at("out.json"))
            .expect("the metadata can be read")
            .is_file()
    );
    // Folders of the output that are missing are created.
    let options = ["heap", "a.hprof", "-o", "x/y/out.txt"];
    done(&mut loadhook(folder.path(), &options)).expect(0, "", &[]);
    assert!(at("x/y/out.txt").is_file());

    let options = ["heap", "none.hprof", "-o", "z/y/out.txt"];
    let failed = done(&mut loadhook(folder.path(), &options));
    assert_eq!(failed.code, Some(1), "{}", failed.err);
    assert!(
        !folder.path().join("z").exists(),
        "the folder z was left behind"
    );
}

/// `ulimit -f` limits the size of files here, which stands for a full disk.
#[test]
fn a_limit_on_the_size_of_files_causes_an_error() {
    let folder = folder();
    fs::write(folder.path().join("a.hprof"), nothing()).expect("the test file can be written");
    let script = "ulimit -f 0; exec \"$0\" heap a.hprof --format json -o out.json";
    let mut command = in_environment("sh".as_ref(), folder.path());
    command
        .args(["-c", script])
        .arg(env!("CARGO_BIN_EXE_loadhook"));
    fails(&done(&mut command), "out.json: File too large");
    let left: Vec<_> = fs::read_dir(folder.path())
        .expect("the test folder can be listed")
        .collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

/// Address space of the command in kilobytes, while it reads a dump without objects.
fn address_space(folder: &Path) -> u64 {
    let mut command = loadhook(folder, &["heap", "/dev/stdin"]);
    let streams = command.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = streams
        .stderr(Stdio::null())
        .spawn()
        .expect("the process starts");
    let mut input = child.stdin.take().expect("the stream is a pipe");
    // The test sends less than the whole record, but more than the buffer of a pipe holds. So when this
    // write returns, the command is reading the record.
    let record = [&[0x7f, 0, 0, 0, 0][..], &(4_u32 << 20).to_be_bytes()].concat();
    let dump = [&nothing()[..31], &record, &[0; 1 << 20]].concat();
    input.write_all(&dump).expect("the command reads the pipe");
    let status = fs::read_to_string(format!("/proc/{}/status", child.id()))
        .expect("the test file can be read");
    drop(input);
    process::end(child).expect("the process ends");
    let size = status.lines().find_map(|line| line.strip_prefix("VmSize:"));
    let size = size.and_then(|size| size.split_whitespace().next()?.parse().ok());
    size.expect("the text is a number")
}

/// `ulimit -v` limits the address space here. The command moves the graph to the disk; it refuses a
/// dump whose other data do not fit into memory.
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
    fs::write(folder.path().join("graph.hprof"), writer.finish())
        .expect("the test file can be written");
    let mut writer = Writer::new();
    for at in 0..300_000 {
        writer.class(0x10_0000 + 32 * at, 0, &[], &[]);
        writer.root(0x03, 0x10_0000 + 32 * at, &[1, 0]);
    }
    fs::write(folder.path().join("classes.hprof"), writer.finish())
        .expect("the test file can be written");
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
        // Under the first limit the whole graph fits into memory, under the second only a part of
        // it.
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
