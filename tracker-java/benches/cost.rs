//! The time that the probes add to a call, in nanoseconds, on JDK 17 and 25.
//!
//!     cargo bench -p loadhook-tracker
//!
//! Plain and instrumented JVMs take turns, so that a machine that slows down slows all; the best of each counts.
//! `sampled` has probes that only count. `same` calls one tiny method again and again, `alternating` two by turns, `fib`
//! recurs. `two threads` divides the time of a call while another thread makes the same calls by its time alone.
//! The number is relative to that of the plain program.

#[path = "../tests/support/mod.rs"]
mod support;

use anyhow::{Context, Result};
use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::process;
use support::{ADAPTIVE, COUNT, EXACT, Program, SAMPLED};

const TURNS: usize = 3;
const COLUMNS: usize = 4;

fn main() -> Result<()> {
    let jvm: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| arg.starts_with("-X"))
        .collect();
    let jvm: Vec<&str> = jvm.iter().map(String::as_str).collect();
    let plain = Program::compiled("../benches/java/Cost.java")?;
    let program = Program::new("../../benches/java/Cost")?;
    let counted = Program::counted("../../benches/java/Cost")?;
    println!(
        "{:<18}{:>12}{:>14}{:>10}{:>14}",
        "added ns per call", "same", "alternating", "fib", "two threads"
    );
    for jdk in [17, 25] {
        let modes = [
            ("plain", ""),
            ("sampled", SAMPLED),
            ("count", COUNT),
            ("adaptive", ADAPTIVE),
            ("exact", EXACT),
        ];
        let mut best = [[f64::MAX; COLUMNS]; 5];
        for _ in 0..TURNS {
            for (row, (_, mode)) in best.iter_mut().zip(modes) {
                let output = match mode {
                    "" => process::output(
                        Jdk::find(jdk)?
                            .java()
                            .args(&jvm)
                            .arg("-cp")
                            .arg(plain.path())
                            .arg("Cost"),
                    )?,
                    SAMPLED => counted.output(jdk, &jvm, mode, 1_000_000)?,
                    _ => program.output(jdk, &jvm, mode, 1_000_000)?,
                };
                for (best, found) in row.iter_mut().zip(result(&output)?) {
                    *best = best.min(found);
                }
            }
        }
        let scaling = |row: &[f64; COLUMNS]| row[3] / row[0];
        for (row, (name, _)) in best.iter().zip(modes) {
            let base = if name == "plain" {
                &[0.0; COLUMNS]
            } else {
                &best[0]
            };
            println!(
                "{jdk} {name:<15}{:>12.2}{:>14.2}{:>10.2}{:>14.2}",
                row[0] - base[0],
                row[1] - base[1],
                row[2] - base[2],
                scaling(row) / scaling(&best[0])
            );
        }
    }
    Ok(())
}

fn result(output: &str) -> Result<Vec<f64>> {
    let line = output
        .lines()
        .find_map(|line| line.strip_prefix("RESULT "))
        .context("the program printed no result")?;
    line.split_whitespace()
        .map(|number| Ok(number.parse()?))
        .collect()
}
