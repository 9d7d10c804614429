//! Tests that rewritten archives count without an agent, and write their profile themselves.

mod support;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use anyhow::{Context, Result, ensure};
use loadhook_profile::analysis::{CountingCosts, figures};
use loadhook_profile::{Clock, Header, Node, ProbeCosts, ThreadKind, Timing};
use loadhook_testkit::process;
use support::chance::Chance;
use support::checks::{JDKS, check_public, check_work, schema, similar};
use support::offline::{self, Run, work};

#[test]
fn counts_threads_and_ends() -> Result<()> {
    let folder = work(&[])?;
    for jdk in JDKS {
        for (how, code) in [("return", 0), ("exit", 7), ("throw", 1)] {
            let run = Run::new(jdk, &[], folder.path(), &["Work", how])?;
            ensure!(run.stdout == "the sum is positive\n", "{}", run.stdout);
            ensure!(run.code == Some(code), "{jdk} {how}: {:?}", run.code);
            let expected = match how {
                "throw" => "Exception in thread \"main\" java.lang.IllegalStateException: thrown",
                _ => "",
            };
            ensure!(
                run.stderr.lines().next().unwrap_or("") == expected,
                "{}",
                run.stderr
            );
            let profile = run.only()?;
            check_work(&profile, 1)?;
            let mut threads: Vec<(&str, ThreadKind)> = profile
                .threads
                .iter()
                .map(|thread| (&*thread.name, thread.kind))
                .collect();
            threads.sort_by_key(|(name, _)| *name);
            let main = match how {
                "exit" => ThreadKind::Platform,
                _ => ThreadKind::Ended,
            };
            let expected = [
                ("keeper", ThreadKind::Platform),
                ("main", main),
                ("worker-#", ThreadKind::Ended),
            ];
            ensure!(threads == expected, "{jdk} {how}: {threads:?}");
            for thread in &profile.threads {
                ensure!(thread.id.is_some() == (thread.kind == ThreadKind::Platform));
            }
        }
        let halted = Run::new(jdk, &[], folder.path(), &["Work", "halt"])?;
        ensure!(halted.code == Some(5) && halted.files()?.is_empty());
    }
    Ok(())
}

#[test]
fn names_and_header() -> Result<()> {
    let folder = work(&[])?;
    for jdk in JDKS {
        let run = Run::new(
            jdk,
            &[],
            folder.path(),
            &["Work", "return", "a \"b\" \u{e9}"],
        )?;
        let profile = run.only()?;
        let header = &profile.header;
        ensure!(header.timing == Timing::Adaptive && header.clock == Clock::Wall);
        ensure!(header.version == env!("CARGO_PKG_VERSION"), "{header:?}");
        ensure!(
            header.command.starts_with("Work return a \"b\" "),
            "{header:?}"
        );
        ensure!(header.jvm.contains(&format!(" {jdk}.")), "{header:?}");
        ensure!(header.left_alone == BTreeMap::from([("a reason".to_owned(), 7)]));
        ensure!(header.notes.is_empty() && header.unmatched.is_empty());
        ensure!(header.duration_ns > 0 && header.tracker_bytes > 0);
        ensure!(header.start_epoch_millis > 1_600_000_000_000);
        ensure!(header.probe.outside_ps > 0, "{header:?}");
        for method in &profile.methods {
            ensure!(
                &*method.loader == "app" && &*method.class == "Work",
                "{method:?}"
            );
            ensure!(
                method.file.as_deref() == Some("Work\\\t.java"),
                "{method:?}"
            );
        }
        let symbols = fs::read_to_string(
            folder
                .path()
                .join("META-INF/loadhook/0123456789abcdef.symbols"),
        )?;
        for line in symbols.lines().filter(|line| line.starts_with('M')) {
            let fields: Vec<&str> = line.split('\t').collect();
            let named = |m: &&loadhook_profile::Method| {
                &*m.name == fields[2] && &*m.descriptor == fields[3]
            };
            if let Some(method) = profile.methods.iter().find(named) {
                ensure!(method.line == fields[4].parse().ok(), "{method:?} {line}");
            }
        }
        let file = fs::read_dir(run.folder.path())?
            .next()
            .context("the run wrote no profile")??;
        ensure!(file.metadata()?.permissions().mode() & 0o777 == 0o600);
    }
    Ok(())
}

#[test]
fn other_tools_see_the_same() -> Result<()> {
    let folder = work(&[])?;
    let mut totals_seen = 0;
    for jdk in JDKS {
        for (timing, clock) in [
            ("adaptive", "wall"),
            ("exact", "wall"),
            ("count", "wall"),
            ("adaptive", "cpu"),
            ("exact", "cpu"),
        ] {
            let timing_option = format!("-Dloadhook.timing={timing}");
            let clock_option = format!("-Dloadhook.clock={clock}");
            let run = Run::new(
                jdk,
                &[&timing_option, &clock_option],
                folder.path(),
                &["Work", "exit"],
            )?;
            let profile = run.only()?;
            check_work(&profile, 1)?;
            ensure!(profile.header.timing.as_str() == timing, "{timing}");
            ensure!(profile.header.clock.as_str() == clock, "{clock}");
            let found = check_public(&run.bytes("loadhook-%p.pb.gz")?)?;
            ensure!(found.program == "Work", "{}", found.program);
            let sum: i64 = found
                .samples
                .iter()
                .filter_map(|sample| sample.values.get(1))
                .sum();
            ensure!(
                (timing == "count") == (sum == 0),
                "{timing} {clock}: only `count` should give no times; the times sum up to {sum} ns"
            );
            let is_total = |sample: &&schema::Sample| sample.labels.contains_key("total");
            let totals = found.samples.iter().filter(is_total).count();
            ensure!(timing != "count" || totals == 0, "{totals}");
            totals_seen += totals;
            if clock == "cpu" {
                // One of the threads only waits, and waiting takes no processor time.
                let wall = profile.header.duration_ns as i64;
                ensure!(
                    sum < 2 * wall,
                    "the times sum up to {sum} ns, but the program ran only {wall} ns"
                );
            }
        }
    }
    // Because of recursion, some total times are not sums of self times. In a single run, the cost
    // of probes may hide that.
    ensure!(totals_seen > 0);
    Ok(())
}

impl Chance {
    /// Makes a node with random times, which contradict each other more than real estimates do.
    fn node(&mut self, at: u64) -> Node {
        let parent = (at > 0 && self.below(8) > 0).then(|| self.below(at) as u32);
        let calls = 1 + self.below(1 << 20);
        let timed = [0, calls, self.below(calls)][self.below(3) as usize];
        let most = 1 << self.below(40);
        let all_ns = if timed == 0 { 0 } else { self.below(most) };
        let outermost_ns = match self.below(3) {
            0 => self.below(all_ns + 1),
            _ => all_ns,
        };
        Node {
            parent,
            method: at as u32,
            calls,
            timed,
            all_ns,
            outermost_ns,
            child_ns: self.below(most),
            variance: [0.0, self.below(most) as f64 * 1e4][self.below(2) as usize],
            ticked_ns: [0, self.below(most)][self.below(2) as usize],
            ticked_variance: self.below(most) as f64 * 1e6,
            ..Node::default()
        }
    }
}

/// Java and Rust must compute the same figures to the last bit, even for trees that no program
/// makes.
#[test]
fn figures_are_the_same() -> Result<()> {
    let program = support::Program::new("Nothing")?;
    offline::tracker(program.folder(), offline::PACKAGE)?;
    let program = program.with("loadhook/FiguresOf.java")?;
    let mut chance = Chance(1);
    let mut input = String::new();
    let mut expected = Vec::new();
    for tree in 0..2000 {
        let header = Header {
            timing: [Timing::Adaptive, Timing::Exact][tree % 2],
            probe: ProbeCosts {
                inside_ps: chance.below(200_000),
                outside_ps: chance.below(200_000),
                clock_read_ps: chance.below(50_000),
            },
            clock: [Clock::Wall, Clock::Cpu][tree / 2 % 2],
            ..Header::default()
        };
        let size = 1 + chance.below(60);
        let nodes: Vec<Node> = (0..size).map(|at| chance.node(at)).collect();
        let probe = header.probe;
        writeln!(
            input,
            "{} {} 0 0 0 0 {} {} {}",
            tree % 2,
            tree / 2 % 2,
            probe.inside_ps,
            probe.outside_ps,
            probe.clock_read_ps
        )?;
        for node in &nodes {
            let parent = node.parent.map_or(-1, i64::from);
            write!(
                input,
                "{parent} {} {} {} ",
                node.method, node.calls, node.timed
            )?;
            writeln!(
                input,
                "{} {} {} {} {} {}",
                node.all_ns,
                node.outermost_ns,
                node.child_ns,
                node.variance.to_bits(),
                node.ticked_ns,
                node.ticked_variance.to_bits()
            )?;
        }
        let figures = figures(&nodes, &header, &CountingCosts::default());
        expected.extend(
            figures
                .iter()
                .map(|f| format!("{} {}", f.self_ns.to_bits(), f.total_ns.to_bits())),
        );
    }
    for jdk in JDKS {
        let mut java = program.java(jdk, &[])?;
        let file = program.folder().join("trees");
        fs::write(&file, &input)?;
        java.arg("loadhook.FiguresOf").stdin(fs::File::open(&file)?);
        let output = process::output(&mut java)?;
        similar(&output, &(expected.join("\n") + "\n"))?;
    }
    Ok(())
}
