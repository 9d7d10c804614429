//! Tests classes at the limits of the format, rewritten with every family of probes. HotSpot links
//! and runs each class before and after rewriting, with equal results.

use anyhow::{Result, ensure};
use loadhook_rewrite::{CallShape, Everything, Options};
use loadhook_testclasses::limits;
use loadhook_tests::judge::{Case, Judge};

fn judge(feature: u32, options: Options, probes: Everything) -> Result<()> {
    let cases = limits::all();
    ensure!(
        cases.len() > 2_500,
        "more than 2,500 cases expected, {} found",
        cases.len()
    );
    let cases = cases.into_iter().map(|case| Case {
        original: case.bytes(),
        group: case.group,
        name: case.name,
        runs: true,
        odd: false,
    });
    let counts = Judge::new(feature, options, probes)?.judge(cases)?;
    for (group, count) in counts {
        println!("JDK {feature}, {group}: {count:?}");
    }
    Ok(())
}

#[test]
fn jdk_17_runs_classes_at_the_limits_as_before() -> Result<()> {
    judge(17, Options::default(), Everything::all(0))
}

#[test]
fn jdk_25_runs_classes_at_the_limits_as_before() -> Result<()> {
    judge(25, Options::default(), Everything::all(0))
}

#[test]
fn jdk_25_runs_counted_classes_at_the_limits_as_before() -> Result<()> {
    judge(25, Options::default(), Everything::counts(0))
}

#[test]
fn jdk_17_runs_traced_classes_at_the_limits_as_before() -> Result<()> {
    judge(17, Options::default(), Everything::traces_with_values(0))
}

/// Large ids make probes longer: an id takes an entry of the constant pool, and more methods exceed
/// HotSpot's limit of 8,000 bytes.
#[test]
fn jdk_17_runs_classes_at_the_limits_as_before_with_large_ids() -> Result<()> {
    let options = Options {
        allow_huge_methods: true,
        call_shape: CallShape::ClassAndMethod { class: 70_000 },
        ..Options::default()
    };
    judge(17, options, Everything::all(100_000))
}
