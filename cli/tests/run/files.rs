//! Tests of the files that `loadhook run` writes: profiles and pages.

use std::fs;

use crate::SERVED;
use crate::common::{classes, done, folder, loadhook, mode, profiles, run};
use crate::jvms::script;

#[test]
fn unwritable_files_are_refused_before_the_start() {
    let folder = folder();
    fs::create_dir_all(folder.path().join("a,b")).expect("the test folder can be created");
    fs::write(folder.path().join("text"), "").expect("the test file can be written");
    for (options, said) in [
        (
            ["-o", "text/x.pb.gz"],
            "/text is not a folder; give another path\n",
        ),
        (["-o", "a,b"], "a,b: not a file"),
        (["-o", "/dev/full"], "/dev/full: not a file"),
        (
            ["--html", "text/x.html"],
            "text/x.html: text is not a folder; give another path\n",
        ),
        (["--html", "a,b"], "a,b: not a file"),
        (["--include-file", "none"], "none: no such file in /"),
    ] {
        let result = done(&mut run(folder.path(), &options, &["serve"]));
        result.expect(1, "", &["error: ", said]);
        assert!(profiles(folder.path()).is_empty());
    }
}

/// Every command that writes files creates missing folders. The agent does so too, even if the program
/// removes the folder while the program runs.
#[test]
fn missing_folders_are_made() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    let options = ["-o", "a/b/x.pb.gz", "--html", "c/x.html"];
    done(&mut run(folder.path(), &options, &["serve"])).expect(
        0,
        SERVED,
        &["profile: a/b/x.pb.gz"],
    );
    let classes = classes();
    let whole = classes.display().to_string();
    let class = classes.join("shop/Shop.class").display().to_string();
    for arguments in [
        &["report", "a/b/x.pb.gz", "-o", "d/e/table"][..],
        &["rewrite", &class, "-o", "f/g/Shop.class"],
        &[
            "rewrite",
            &whole,
            "-o",
            "m/n",
            "--tracker",
            "jar:h/i/tracker.jar",
        ],
    ] {
        let result = done(&mut loadhook(folder.path(), arguments));
        assert_eq!(result.code, Some(0), "{arguments:?}: {}", result.err);
    }
    for file in [
        "a/b/x.pb.gz",
        "c/x.html",
        "d/e/table",
        "f/g/Shop.class",
        "m/n/shop/Shop.class",
        "h/i/tracker.jar",
    ] {
        assert!(path(file).is_file(), "{file}");
    }
    // The command removes the folder of the profile, as `mvn clean` does.
    let script = "rm -r k; exec java -cp \"$0\" shop.Shop serve";
    let mut command = loadhook(folder.path(), &["run", "-o", "k/l/x-%p.pb.gz", "--"]);
    command.args(["sh", "-c", script]).arg(&classes);
    done(&mut command).expect(0, SERVED, &["profile: k/l/x-"]);
}

#[test]
fn a_dangling_link_stays_a_link() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("kept")).expect("the test folder can be created");
    for name in ["x.pb.gz", "x.html"] {
        std::os::unix::fs::symlink(format!("kept/{name}"), path(name))
            .expect("the symbolic link can be created");
    }
    let options = ["-o", "x.pb.gz", "--html", "x.html"];
    done(&mut run(folder.path(), &options, &["serve"])).expect(0, SERVED, &["profile: x.pb.gz"]);
    for name in ["x.pb.gz", "x.html"] {
        assert!(fs::read_link(path(name)).is_ok(), "{name}");
        assert_eq!(mode(&path("kept").join(name)), 0o600, "{name}");
    }
}

#[test]
fn the_page_does_not_replace_the_profile() {
    let folder = folder();
    fs::create_dir(folder.path().join("sub")).expect("the test folder can be created");
    std::os::unix::fs::symlink("one", folder.path().join("link"))
        .expect("the symbolic link can be created");
    for html in ["one", "./one", "sub/../one", "link"] {
        let result = done(&mut run(
            folder.path(),
            &["-o", "one", "--html", html],
            &["serve"],
        ));
        result.expect(
            1,
            "",
            &["the profile and the page cannot be the same file; give -o or --html another name"],
        );
        let options = ["run", "-o", "one", "--html", html, "--", "./no-java"];
        let result = done(&mut loadhook(folder.path(), &options));
        result.expect(
            1,
            "",
            &["the profile and the page cannot be the same file; give -o or --html another name"],
        );
    }
}

#[test]
fn names_may_contain_line_breaks() {
    let folder = folder();
    let options = ["-o", "two\nlines.pb.gz"];
    let result = done(&mut run(folder.path(), &options, &["serve"]));
    result.expect(0, SERVED, &["shop.Shop serve\n", "\nprofile: "]);
    assert_eq!(profiles(folder.path()), ["two\nlines.pb.gz"]);
}

/// `%p` stands for the process id only in the name of the file, not in the name of a folder.
#[test]
fn names_of_folders_are_taken_literally() {
    let folder = folder();
    let inner = folder.path().join("100%pure");
    fs::create_dir(&inner).expect("the test folder can be created");
    done(&mut run(&inner, &["-o", "x.pb.gz"], &["serve"])).expect(0, SERVED, &["profile: x.pb.gz"]);
    done(&mut run(&inner, &[], &["serve"])).expect(0, SERVED, &["profile: loadhook-"]);
    assert_eq!(profiles(&inner).len(), 2);
    script(&inner);
    let options = ["run", "-o", "all.pb.gz", "--", "./twice"];
    let told = ["profile of all: all.pb.gz"];
    done(&mut loadhook(&inner, &options)).expect(7, SERVED, &told);
    assert_eq!(profiles(&inner).len(), 5);
}

#[test]
fn paths_can_hold_anything() {
    let folder = folder();
    let name = "it's \"mine\", é\\,\\\\";
    fs::create_dir(folder.path().join(name)).expect("the test folder can be created");
    let [profile, page, patterns] =
        ["x.pb.gz", "x.html", "patterns"].map(|file| format!("{name}/{file}"));
    fs::write(folder.path().join(&patterns), "shop.**\n").expect("the test file can be written");
    let options = ["-o", &profile, "--html", &page, "--include-file", &patterns];
    let result = done(&mut run(folder.path(), &options, &["serve"]));
    result.expect(0, SERVED, &[&format!("profile: {profile} (page: {page})")]);
    fs::remove_file(folder.path().join(&profile)).expect("the file was written");

    let command = format!("java -cp '{}' shop.Shop serve", classes().display());
    let result = done(
        loadhook(folder.path(), &["run"])
            .args(options)
            .args(["--", "sh", "-c", &command]),
    );
    result.expect(0, SERVED, &[&format!("profile: {profile} (page: {page})")]);
    assert!(fs::metadata(folder.path().join(&page)).is_ok());
}

#[test]
fn the_folder_can_hold_commas() {
    let folder = folder();
    let here = folder.path().join("a,b");
    fs::create_dir(&here).expect("the test folder can be created");
    let result = done(run(&here, &[], &["serve"]).env("TMPDIR", &here));
    result.expect(0, SERVED, &["profile: loadhook-"]);
    assert_eq!(profiles(&here).len(), 1);
}

/// If a script starts one JVM, its profile gets the requested name, even if that name is a link.
#[test]
fn a_link_stays_a_link_for_a_script() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("kept")).expect("the test folder can be created");
    std::os::unix::fs::symlink("kept/all.pb.gz", path("x.pb.gz"))
        .expect("the symbolic link can be created");
    let command = format!("exec java -cp '{}' shop.Shop serve", classes().display());
    let options = ["run", "-o", "x.pb.gz", "--", "sh", "-c", &command];
    for _ in ["dangling", "not"] {
        let result = done(&mut loadhook(folder.path(), &options));
        result.expect(0, SERVED, &["profile: x.pb.gz (as a page: "]);
        assert!(fs::read_link(path("x.pb.gz")).is_ok());
        assert_eq!(mode(&path("kept/all.pb.gz")), 0o600);
        assert_eq!(profiles(folder.path()), ["x.pb.gz"]);
        assert_eq!(profiles(&path("kept")), ["all.pb.gz"]);
    }
}
