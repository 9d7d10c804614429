//! The adaptive mode's times are unbiased, and their standard errors honest.

mod support;

use anyhow::{Context, Result, ensure};
use loadhook_tests::helpers;
use support::Program;

/// One line of `Estimates.java`.
struct Estimate {
    workload: usize,
    truth: f64,
    mean: f64,
    error_of_mean: f64,
    stated_variance: f64,
    variance: f64,
    timed: f64,
}

#[test]
fn no_bias_over_two_thousand_seeds() -> Result<()> {
    let program = Program::plain("Nothing")?
        .with("fake/loadhook/Clock.java")?
        .with("loadhook/Estimates.java")?;
    let output = helpers::output(program.java(17, &[])?.arg("loadhook.Estimates"))?;
    let estimates = output
        .lines()
        .filter_map(|line| line.strip_prefix("RESULT "))
        .map(estimate);
    let estimates = estimates.collect::<Result<Vec<_>>>()?;
    ensure!(estimates.len() == 6, "{output}");
    for Estimate {
        workload,
        truth,
        mean,
        error_of_mean,
        stated_variance,
        variance,
        timed,
    } in estimates
    {
        println!(
            "workload {workload}: true {truth}, mean {mean:.0} ± {error_of_mean:.0}, relative error {:.4}, stated {:.4}, {:.4} timed",
            variance.sqrt() / truth,
            stated_variance.sqrt() / truth,
            timed
        );
        // One in 15,000 runs strays by more than 4 standard errors; the seeds are fixed, so this does not flicker.
        ensure!(
            (mean - truth).abs() <= 4.0 * error_of_mean,
            "{workload}: {mean}, true is {truth}"
        );
        // The stated error is no less than half of the real one, and no more than three times.
        ensure!(
            stated_variance >= variance / 4.0,
            "{workload}: stated {stated_variance}, is {variance}"
        );
        ensure!(
            stated_variance.sqrt() <= 3.0 * variance.sqrt() + 0.01 * truth,
            "{workload}: stated {stated_variance}"
        );
        ensure!(workload == 5 || timed < 0.2, "{workload}: {timed} timed");
    }
    Ok(())
}

/// A recursion of ten calls that take 100 ns each beside what they call, within a call that takes 50.
#[test]
fn totals_do_not_count_recursion_twice() -> Result<()> {
    let program = Program::plain("Nothing")?
        .with("fake/loadhook/Clock.java")?
        .with("loadhook/Totals.java")?;
    for jdk in [17, 25] {
        let output = helpers::output(program.java(jdk, &[])?.arg("loadhook.Totals"))?;
        // 100 + 200 + … + 1000 of all, 1000 of the outermost; what calls itself has both as its own child.
        let expected = "calls all outermost child\n1 1050 1050 1000\n10 5500 1000 4500\n";
        ensure!(output.contains(expected), "{jdk}: {output}");
        // The same with five calls under way, by their time so far: 1500 of the ended ones, 3400 of these.
        let under_way = "under way\n1 820 820 800\n10 4900 800 4100\n";
        ensure!(output.contains(under_way), "{jdk}: {output}");
    }
    Ok(())
}

fn estimate(line: &str) -> Result<Estimate> {
    let numbers = line
        .split(' ')
        .map(str::parse)
        .collect::<Result<Vec<f64>, _>>()?;
    let &[
        workload,
        truth,
        mean,
        error_of_mean,
        stated_variance,
        variance,
        timed,
    ] = numbers.as_slice()
    else {
        return Err(anyhow::anyhow!("{line}")).context("seven numbers");
    };
    Ok(Estimate {
        workload: workload as usize,
        truth,
        mean,
        error_of_mean,
        stated_variance,
        variance,
        timed,
    })
}
