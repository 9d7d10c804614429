//! Tests what the scripts say on a machine that lacks a program, and that no failure of a test is lost. The tests install
//! nothing.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    root.expect("this crate is in a workspace").to_owned()
}

/// Runs `line` in a shell, after `prerequisites.sh`, with `folder` as the current folder. The shell
/// finds only `cargo` and these programs. Returns its output.
fn shell(folder: &Path, programs: &[&str], target: &str, line: &str) -> String {
    let bin = folder.join("bin");
    let _ = fs::remove_dir_all(&bin);
    fs::create_dir(&bin).expect("the test folder can be created");
    fs::write(bin.join("cargo"), "").expect("the test file can be written");
    for program in programs {
        let found = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(program));
        let found = found.iter().find(|found| found.exists());
        symlink(found.expect("the program is installed"), bin.join(program))
            .expect("the symbolic link can be created");
    }
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(bin.join("cargo"), mode).expect("the permissions can be set");
    let root = root();
    let script = format!(
        "set -eu; . '{}/scripts/prerequisites.sh'; cd \"$root\"; {line}",
        root.display()
    );
    let output = Command::new("/bin/sh")
        // The last argument is the script's own path (`$0`), from which `prerequisites.sh` finds
        // the workspace.
        .args([
            "-c",
            &script,
            &root.join("scripts/sh").display().to_string(),
        ])
        .current_dir(folder)
        .env_clear()
        .env("PATH", &bin)
        .env("CARGO_TARGET_DIR", target)
        .output()
        .expect("the shell starts");
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8(text).expect("the text is UTF-8")
}

#[test]
fn the_target_folder_stays_where_it_is() {
    let folder = tempfile::tempdir().expect("a temporary folder can be created");
    let here = fs::canonicalize(folder.path()).expect("the path can be resolved");
    let line = "echo \"$target $CARGO_TARGET_DIR\"";
    let expect = |target: &str, absolute: &str| {
        let said = shell(&here, &["dirname", "cc", "ld"], target, line);
        assert_eq!(said, format!("{absolute} {absolute}\n"));
    };
    expect("built", &format!("{}/built", here.display()));
    expect("/built", "/built");
}

#[test]
fn messages_name_the_package_of_a_missing_program() {
    let folder = tempfile::tempdir().expect("a temporary folder can be created");
    let said = shell(folder.path(), &["dirname"], "/none", "echo all");
    assert_eq!(
        said,
        "loadhook: cc not found: install gcc (no apt-get here)\n"
    );
    let programs = ["dirname", "cc", "ld"];
    let said = shell(folder.path(), &programs, "/none", "need_tmux; echo all");
    assert_eq!(
        said,
        "loadhook: tmux not found: install tmux (no apt-get here)\n"
    );
    // No machine has this release, and without python it cannot be fetched.
    let line = "need_runtime 12; echo all";
    let said = shell(
        folder.path(),
        &["dirname", "cc", "ld", "grep"],
        "/none",
        line,
    );
    let expected = "loadhook: no JDK 12 found (JAVA_HOME_12, openjdk-12-jdk-headless): install python3 (no apt-get here)\n";
    assert_eq!(said, expected);
}

/// Each program runs beside the next one, whose start does not wait for it. Every output is whole. Failed tests are
/// named with their messages, and a killed program with its last lines.
#[test]
fn test_programs_run_side_by_side() {
    let folder = tempfile::tempdir().expect("a temporary folder can be created");
    let deps = folder.path().join("deps");
    fs::create_dir(&deps).expect("the test folder can be created");
    let program = |name: &str, lines: &str| {
        fs::write(deps.join(name), format!("#!/bin/sh\n{lines}\n"))
            .expect("the test file can be written");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(deps.join(name), mode).expect("the permissions can be set");
    };
    // The first program ends only after the second one has started.
    program(
        "first-0",
        "read -r word <\"$1/begun\"; echo \"$word\"; echo 'test a ... ok'",
    );
    program(
        "second-1",
        "echo begun >\"$1/begun\"; echo 'test b ... FAILED'; echo 'test c ... ok'; echo failures:; \
        echo b panicked; echo stack backtrace:; echo 0: b; echo; echo failures:; echo tests: 2; exit 101",
    );
    program(
        "third-2",
        "echo third begins; kill -INT $$; echo 'interrupts are ignored'",
    );
    let script = "mkfifo free begun; exec 3<>free; printf '\\n\\n' >&3
        for program in first-0 second-1 third-2; do
            \"$run\" \"$PWD\" \"$PWD/deps/$program\" \"$PWD\" || echo \"$program waited for\"
        done
        read -r _ <&3; read -r _ <&3; echo; cat failed";
    let output = Command::new("/bin/sh")
        .args(["-euc", script])
        .current_dir(folder.path())
        .env("run", root().join("scripts/side_by_side.sh"))
        .env("CARGO_PKG_NAME", "package")
        .output()
        .expect("the shell starts");
    let text = String::from_utf8(output.stdout).expect("the text is UTF-8");
    let (outputs, failed) = text.rsplit_once("\n\n").expect("the programs have ended");
    for expected in [
        " s\nbegun\ntest a ... ok",
        " s\ntest b ... FAILED\ntest c ... ok",
        "Ended package third, after ",
    ] {
        assert!(outputs.contains(expected), "{expected}: {text}");
    }
    assert!(
        !outputs.contains("ignored") && !outputs.contains("waited"),
        "{text}"
    );
    let mut failed: Vec<&str> = failed.lines().collect();
    failed.sort_unstable();
    let expected = [
        "b panicked",
        "failed: package second (exit code 101)",
        "failed: package third (exit code 130)",
        "failures:",
        "failures:",
        "test b ... FAILED",
        "third begins",
    ];
    assert_eq!(failed, expected);
}
