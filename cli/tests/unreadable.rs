//! Tests of files that do not exist or cannot be read. Each command that reads files says what the user can do.

use std::fs;

mod common;
use common::{done, folder, loadhook};

#[test]
fn each_command_says_the_same() {
    let folder = folder();
    fs::create_dir(folder.path().join("folder")).expect("the test folder can be created");
    fs::write(folder.path().join("file"), "").expect("the test file can be written");
    let here = fs::canonicalize(folder.path()).expect("the test folder exists");
    let nowhere = format!(
        "no such file in {}; check the name, or give the path of another folder",
        here.display()
    );
    let no_folder = "no such file, since there is no folder none; check the path";
    let below_file = "no such file: a part of this path is a file, not a folder; check the path";
    for (command, kind) in [
        (&["report"][..], Some("a profile")),
        (&["report", "--diff", "folder"], None),
        (&["heap"], Some("a heap dump")),
        (&["heap", "--diff", "folder"], None),
        (&["inspect"], Some("a class file")),
        (&["inspect", "--diff", "folder"], None),
        (&["rewrite", "-o", "out"], None),
    ] {
        let said = |name: &str| {
            let mut arguments = command.to_vec();
            // In a comparison the missing file comes first.
            arguments.insert(1, name);
            done(&mut loadhook(folder.path(), &arguments))
        };
        for (name, fault) in [
            ("x", nowhere.as_str()),
            ("none/x", no_folder),
            ("file/x", below_file),
        ] {
            let result = said(name);
            let line = format!("error: {name}: {fault}\n");
            result.expect(1, "", &[&line]);
        }
        if let Some(kind) = kind {
            let line = format!("error: folder: this is a folder; give {kind} in it\n");
            said("folder").expect(1, "", &[&line]);
        }
    }
    let name = "x.jar!a/B.class";
    let result = done(&mut loadhook(folder.path(), &["inspect", name]));
    result.expect(1, "", &[&format!("error: {name}: {nowhere}\n")]);
}
