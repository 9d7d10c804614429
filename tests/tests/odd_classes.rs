//! Tests odd classes that HotSpot accepts, and that an earlier rewriter refused or rewrote wrongly:
//! debug tables that point into instructions, stale frames, subroutines, merged types, and `this`
//! that is moved or lost.

use anyhow::{Result, ensure};
use loadhook_rewrite::{Everything, Options};
use loadhook_testkit::{corpus, paths};
use loadhook_tests::judge::{Case, Judge};

fn judge(feature: u32) -> Result<()> {
    let folder = paths::workspace().join("tests/odd");
    let classes = corpus::walk(&folder)?;
    ensure!(
        classes.len() > 40,
        "more than 40 classes expected, {} found",
        classes.len()
    );
    let cases: Vec<Case> = classes
        .iter()
        .map(|path| {
            Ok(Case {
                name: path.display().to_string(),
                group: "odd",
                original: std::fs::read(path)?,
                runs: false,
                odd: true,
            })
        })
        .collect::<Result<_>>()?;
    for probes in [
        Everything::all(10),
        Everything::counts(10),
        Everything::traces(10),
    ] {
        let mut judge = Judge::new(feature, Options::default(), probes)?;
        let counts = judge.judge(cases.iter().cloned())?;
        println!("JDK {feature}: {counts:?}");
    }
    Ok(())
}

#[test]
fn jdk_17_accepts_odd_classes_as_before() -> Result<()> {
    judge(17)
}

#[test]
fn jdk_25_accepts_odd_classes_as_before() -> Result<()> {
    judge(25)
}
