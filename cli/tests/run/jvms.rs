//! Tests of commands other than `java`, which start JVMs themselves.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use loadhook_testkit::process;

use crate::SERVED;
use crate::common::{
    agent, calls, classes, done, executable, folder, loadhook, mode, profiles, read, run,
};

/// Writes a script that runs the program twice.
pub(crate) fn script(folder: &Path) {
    let line = format!("java -cp '{}' shop.Shop", classes().display());
    let text = folder.join("text");
    fs::write(&text, format!("#!/bin/sh\n{line} serve\n{line} exit 7\n"))
        .expect("the test file can be written");
    executable(&text, &folder.join("twice"));
}

#[test]
fn each_jvm_of_a_script_has_its_own_profile() {
    let folder = folder();
    script(folder.path());
    let said = "./twice is not the java launcher; every JVM that it starts will be profiled (through JAVA_TOOL_OPTIONS)";
    let mut command = loadhook(folder.path(), &["run", "--", "./twice"]);
    command.env("JAVA_TOOL_OPTIONS", "-Dgreeting=,hello");
    let result = done(&mut command);
    let out = "served 77461611,hello\n";
    result.expect(
        7,
        out,
        &["profiles of 2 JVMs", "shop.Shop serve + shop.Shop exit 7"],
    );
    assert_eq!(result.err.matches(said).count(), 1);
    let files = profiles(folder.path());
    assert_eq!(files.len(), 2, "{files:?}");
    for file in &files {
        assert!(
            result.err.contains(&format!("\n  {file}  shop.Shop ")),
            "{}",
            result.err
        );
        fs::remove_file(folder.path().join(file)).expect("the test file can be removed");
    }

    // The user asks for one file name, and several JVMs write profiles. The file of this name gets the
    // merged profile, and no profile overwrites another.
    let options = [
        "run",
        "-o",
        "all of it.pb.gz",
        "--html",
        "a page.html",
        "--",
        "./twice",
    ];
    let result = done(&mut loadhook(folder.path(), &options));
    result.expect(
        7,
        SERVED,
        &["profile of all: all of it.pb.gz (page: a page.html)"],
    );
    let files = profiles(folder.path());
    assert_eq!(files.len(), 3, "{files:?}");
    let all = folder.path().join("all of it.pb.gz");
    assert_eq!(calls(&read(&all), "shop.Shop$Order", "<init>"), 1510);
    assert_eq!(
        [mode(&all), mode(&folder.path().join("a page.html"))],
        [0o600; 2]
    );
    let mut own: Vec<u64> = files
        .iter()
        .filter(|file| file.starts_with("all of it-"))
        .map(|file| calls(&read(&folder.path().join(file)), "shop.Shop", "serve"))
        .collect();
    own.sort_unstable();
    assert_eq!(own, [1, 2]);

    // If the script starts only one JVM, its profile gets the requested name.
    let command = format!("exec java -cp '{}' shop.Shop serve", classes().display());
    let options = ["run", "-o", "one.pb.gz", "--", "sh", "-c", &command];
    let result = done(&mut loadhook(folder.path(), &options));
    result.expect(0, SERVED, &["profile: one.pb.gz (as a page: "]);
    assert_eq!(profiles(folder.path()).len(), 4);
}

/// If one profile cannot be read, the others are still shown.
#[test]
fn a_faulty_file_does_not_hide_the_others() {
    let folder = folder();
    let line = format!("java -cp '{}' shop.Shop", classes().display());
    let three =
        format!("{line} serve; {line} exit 0; rm \"$(ls -t x-*.gz | head -1)\"; {line} exit 0");
    for output in ["x-%p.pb.gz", "x.pb.gz"] {
        let options = ["run", "-o", output, "--", "sh", "-c", &three];
        let result = done(&mut loadhook(folder.path(), &options));
        let told = [
            ": no such file in /",
            "profiles of 2 JVMs",
            "shop.Shop serve\n",
        ];
        result.expect(0, SERVED, &told);
        let files = profiles(folder.path());
        for file in &files {
            assert!(result.err.contains(file), "{file}: {}", result.err);
            fs::remove_file(folder.path().join(file)).expect("the test file can be removed");
        }
        // If one name was requested for all JVMs, the merged file is there, too.
        assert_eq!(files.len(), if output == "x.pb.gz" { 3 } else { 2 });
    }

    // The page can be created at the start. At the end it cannot be written, because a folder has
    // its name.
    let full = format!("{line} serve; mkdir page.html");
    let options = [
        "run",
        "-o",
        "x.pb.gz",
        "--html",
        "page.html",
        "--",
        "sh",
        "-c",
        &full,
    ];
    let result = done(&mut loadhook(folder.path(), &options));
    let told = [
        "shop.Shop serve\n",
        "loadhook: page.html: ",
        "\nprofile: x.pb.gz (as a page: ",
    ];
    result.expect(0, SERVED, &told);
    assert_eq!(profiles(folder.path()), ["x.pb.gz"]);
}

/// The program receives its arguments and options unchanged, whatever their encoding.
#[test]
fn arguments_that_are_not_utf8_reach_the_program() {
    let folder = folder();
    let latin = OsStr::from_bytes(b"caf\xe9");
    let mut command = loadhook(
        folder.path(),
        &["run", "--", "sh", "-c", "printf %s \"$1\"", "sh"],
    );
    let output = process::finish(command.arg(latin)).expect("the process ends");
    assert_eq!(output.stdout, latin.as_bytes());

    let line = "printf %s \"${JAVA_TOOL_OPTIONS%% *}\"";
    let mut command = loadhook(folder.path(), &["run", "--", "sh", "-c", line]);
    let option = OsStr::from_bytes(b"-Dname=caf\xe9");
    let output = process::finish(command.env("JAVA_TOOL_OPTIONS", option));
    assert_eq!(output.expect("the process ends").stdout, option.as_bytes());

    let mut command = loadhook(
        folder.path(),
        &["run", "-o", "x.pb.gz", "--", "java", "-cp"],
    );
    command
        .arg(classes())
        .args(["shop.Shop", "serve"])
        .arg(latin);
    done(&mut command).expect(0, SERVED, &["profile: x.pb.gz"]);
}

#[test]
fn children_inherit_the_environment_only() {
    let folder = folder();
    done(&mut run(folder.path(), &[], &["child"])).expect(0, SERVED, &["shop.Shop child"]);
    let files = profiles(folder.path());
    assert_eq!(files.len(), 1, "{files:?}");
    assert_eq!(
        calls(&read(&folder.path().join(&files[0])), "shop.Shop", "serve"),
        0
    );

    let command = format!("java -cp '{}' shop.Shop child", classes().display());
    let options = ["run", "-o", "x-%p.pb.gz", "--", "sh", "-c", &command];
    done(&mut loadhook(folder.path(), &options)).expect(
        0,
        SERVED,
        &[
            "profiles of 2 JVMs",
            "as a page: loadhook report --merge x-",
        ],
    );
    assert_eq!(profiles(folder.path()).len(), 3);
}

/// Two JVMs in two containers may both have the process id 1. Their profiles need different names.
#[test]
fn two_jvms_with_one_process_id_have_a_profile_each() {
    let folder = folder();
    let one_name = "JAVA_TOOL_OPTIONS=$(printf %s \"$JAVA_TOOL_OPTIONS\" | sed 's/%p/1/')";
    let line = format!("java -cp '{}' shop.Shop serve", classes().display());
    let script = format!("{one_name}; {line}; {line}");
    let options = ["run", "-o", "all.pb.gz", "--", "sh", "-c", &script];
    let result = done(&mut loadhook(folder.path(), &options));
    result.expect(0, &SERVED.repeat(2), &["profiles of 2 JVMs"]);
    let names = ["all-1.2.pb.gz", "all-1.pb.gz", "all.pb.gz"];
    assert_eq!(profiles(folder.path()), names);
    let profile = read(&folder.path().join("all.pb.gz"));
    assert_eq!(calls(&profile, "shop.Shop$Order", "<init>"), 3000);
}

/// A JVM takes only one agent of Loadhook. If one `loadhook run` starts another, the options of the
/// inner one apply.
#[test]
fn a_run_inside_another_is_reported() {
    let folder = folder();
    let inner = run(folder.path(), &["-o", "inner.pb.gz"], &["serve"]);
    let mut outer = loadhook(folder.path(), &["run", "-o", "outer.pb.gz", "--"]);
    outer.arg(inner.get_program()).args(inner.get_args());
    let told = "loadhook: JAVA_TOOL_OPTIONS already loads the agent; the options given there apply";
    let result = done(&mut outer);
    result.expect(
        0,
        SERVED,
        &[told, "shop.Shop serve\n", "profile: outer.pb.gz"],
    );
    assert!(!result.err.contains("no profile"), "{}", result.err);
    assert_eq!(profiles(folder.path()), ["outer.pb.gz"]);
    let profile = read(&folder.path().join("outer.pb.gz"));
    assert_eq!(calls(&profile, "shop.Shop$Order", "<init>"), 1500);

    let option = format!("-agentpath:{}=file=own.pb.gz", agent().display());
    let mut command = loadhook(folder.path(), &["run", "--", "java", &option, "-cp"]);
    command.arg(classes()).args(["shop.Shop", "exit", "3"]);
    let told = [
        "loadhook: the command already loads the agent; the options given there apply",
        "profile written to own.pb.gz",
    ];
    done(&mut command).expect(3, "", &told);
    assert_eq!(profiles(folder.path()), ["outer.pb.gz", "own.pb.gz"]);
}
