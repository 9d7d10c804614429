//! Tests of modules that are rewritten a second time.

mod common;

use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};
use common::plan;
use loadhook_offline::verify::Verifier;
use loadhook_offline::{Detail, Offline, Progress, Tracker, tracker_jar};
use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::process;

const SOURCES: [(&str, &str); 3] = [
    ("module-info.java", "module m { }"),
    (
        "m/First.java",
        "package m; class First { static int one() { return 1; } }",
    ),
    (
        "m/Main.java",
        "package m; class Main { public static void main(String[] none) {
            System.out.println(\"one is \" + First.one());
        } }",
    ),
];

fn make_jar(jdk: &Jdk, folder: &Path) -> Result<()> {
    fs::create_dir(folder.join("m"))?;
    for (name, text) in SOURCES {
        fs::write(folder.join(name), text)?;
    }
    let mut javac = jdk.javac()?;
    javac.current_dir(folder).args(["-d", "classes"]);
    process::output(javac.args(SOURCES.map(|(name, _)| name)))?;
    let mut jar = jdk.tool("jar")?;
    jar.current_dir(folder);
    process::output(jar.args(["cf", "plain.jar", "-C", "classes", "."]))?;
    Ok(())
}

#[test]
fn a_module_starts_after_a_second_pass() -> Result<()> {
    let jdk = Jdk::find(17)?;
    let folder = tempfile::tempdir()?;
    make_jar(&jdk, folder.path())?;
    let at = |name: &str| folder.path().join(name);
    fs::write(at("tracker.jar"), tracker_jar()?)?;
    for tracker in [Tracker::Jar, Tracker::Embed] {
        let progress = Progress::default();
        for (class, from, to) in [
            ("m.First", "plain.jar", "once.jar"),
            ("m.Main", "once.jar", "twice.jar"),
        ] {
            let mut plan = plan(tracker);
            plan.selection.filter.include(class)?;
            plan.skip_instrumented = true;
            let mut offline = Offline::new(&plan, Detail::default(), &progress);
            offline.archive_file(from, &at(from), Some(&at(to)))?;
            ensure!(offline.tally().rewritten == 1, "{:?}", offline.tally());
            let mut verifier = Verifier::new(&plan, &progress);
            verifier.archive_file(to, &at(from), &at(to))?;
            let faults = &verifier.checked().faults;
            ensure!(faults.is_empty(), "{faults:?}");
        }
        let path = match tracker {
            Tracker::Jar => "twice.jar:tracker.jar",
            _ => "twice.jar",
        };
        for feature in [17, 25] {
            let mut java = Jdk::find(feature)?.java();
            java.current_dir(&folder)
                .args(["-Dloadhook.file=a.pb.gz", "-p", path]);
            let out = process::output(java.args(["-m", "m/m.Main"]))?;
            ensure!(
                out == "one is 1\n",
                "{tracker:?}, JDK {feature}: `one is 1` expected: {out}"
            );
            ensure!(
                at("a.pb.gz").is_file(),
                "{tracker:?}, JDK {feature}: the program wrote no profile"
            );
            fs::remove_file(at("a.pb.gz"))?;
        }
    }
    Ok(())
}
