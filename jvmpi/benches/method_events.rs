//! The cost of `METHOD_ENTRY` and `METHOD_EXIT`, in nanoseconds a call: beside two bare calls of native methods in the same
//! JVM, beside the same program with the events disabled and without an agent, and beside JVM TI's own events of methods.
//!
//!     cargo bench -p loadhook-jvmpi

use std::path::Path;

use anyhow::{Context, Result, ensure};
use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::{process, source};

#[path = "../tests/support/mod.rs"]
#[allow(dead_code, reason = "the bench runs a program of its own")]
mod support;
use support::{agent_option, library};

const FEATURES: [u32; 2] = [17, 25];
/// JVMs of each kind, of which the one with the median is shown.
const RUNS: usize = 3;

/// Nanoseconds: two bare calls of native methods, and one call of a method.
type Cost = (f64, f64);

fn main() -> Result<()> {
    println!("nanoseconds        two bare calls   a call   ratio");
    for feature in FEATURES {
        for (name, option) in [
            ("events enabled", Some(agent_option("cost", "")?)),
            ("events disabled", Some(agent_option("cost", "off")?)),
            ("no agent", None),
            ("JVM TI's events", Some(jvmti_option()?)),
        ] {
            let (bare, call) = median(feature, option.as_deref())?;
            let ratio = call / bare;
            println!("{feature} {name:16} {bare:13.1} {call:8.1} {ratio:7.2}");
        }
    }
    Ok(())
}

fn jvmti_option() -> Result<String> {
    Ok(format!("-agentpath:{}", library("cost")?.display()))
}

fn median(feature: u32, agent: Option<&str>) -> Result<Cost> {
    let mut costs = (0..RUNS)
        .map(|_| run(feature, agent))
        .collect::<Result<Vec<_>>>()?;
    costs.sort_by(|a, b| (a.1 / a.0).total_cmp(&(b.1 / b.0)));
    costs.get(RUNS / 2).copied().context("no run")
}

fn run(feature: u32, agent: Option<&str>) -> Result<Cost> {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/java/MethodCost.java");
    let classes = source::compile_once("MethodCost", std::slice::from_ref(&program), |javac| {
        javac.args(["--release", "11"]).arg(&program);
        Ok(())
    })?;
    let mut java = Jdk::find(feature)?.java();
    java.env_remove("JAVA_TOOL_OPTIONS")
        .args(agent)
        .arg("-cp")
        .arg(classes)
        .arg("MethodCost")
        .arg(library("cost")?);
    let output = process::finish(&mut java)?;
    ensure!(output.status.success(), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<f64> = text
        .split_whitespace()
        .map_while(|it| it.parse().ok())
        .collect();
    match numbers.as_slice() {
        [bare, call] => Ok((*bare, *call)),
        _ => anyhow::bail!("no numbers: {text}"),
    }
}
