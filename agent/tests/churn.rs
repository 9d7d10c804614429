//! Class loaders and threads that start and end by the thousand. The agent's memory must not grow
//! with their number.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, ensure};
use loadhook_profile::{Profile, Timing};
use tempfile::TempDir;

mod support;
use support::{Program, finish, read};

on_each_jdk!(copies_share_rows);
on_jdks!(every_mode generated_classes: on_17 17, on_25 25);

/// JVM options. The whole heap is resident from the start, so that only native memory can grow; and
/// there is only one compiler, which takes less native memory.
const JVM: [&str; 5] = [
    "-Xms48m",
    "-Xmx48m",
    "-XX:+AlwaysPreTouch",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
];

/// Number of rows of `Churn` and its nested classes if each class has its rows once.
const ROWS: usize = 60;

/// The result of a run.
struct Churned {
    profile: Profile,
    /// Size of the profile in bytes.
    file: u64,
    /// Numbers of loaders and threads, and resident kilobytes, after each part.
    parts: Vec<[u64; 3]>,
    name: String,
}

/// Runs `Churn` with a `count` such as `loaders 4000`.
fn churn(feature: u32, mode: &str, count: &str, parts: &str, options: &str) -> Result<Churned> {
    let folder = TempDir::new()?;
    let file = folder.path().join("profile.pb.gz");
    let name = format!("JDK {feature}, {mode}, {count}, {options}");
    let args: Vec<&str> = [mode]
        .into_iter()
        .chain(count.split(' '))
        .chain([parts])
        .collect();
    let program = Program::new(feature, "Churn")
        .options(options)
        .jvm(&JVM)
        .args(&args);
    let output = finish(&mut program.command(&file)?).with_context(|| name.clone())?;
    ensure!(
        output.status.success() && output.stderr.is_empty(),
        "{name}: {output:?}"
    );
    let printed = String::from_utf8(output.stdout)?;
    let numbers = |line: &str| -> Result<[u64; 3]> {
        let numbers: Result<Vec<u64>, _> = line.split(' ').map(str::parse).collect();
        numbers?.try_into().ok().context(line.to_owned())
    };
    Ok(Churned {
        profile: read(&file)?,
        file: fs::metadata(&file)?.len(),
        parts: printed.lines().map(numbers).collect::<Result<_>>()?,
        name,
    })
}

impl Churned {
    /// Checks that each call was counted, also calls of unloaded classes.
    fn counts_all(&self) -> Result<&Self> {
        let [loaders, threads, _] = *self.parts.last().context("the program printed no line")?;
        let mut calls: BTreeMap<&str, u64> = BTreeMap::new();
        for node in self.profile.threads.iter().flat_map(|thread| &thread.nodes) {
            let method = &self.profile.methods[node.method as usize];
            *calls.entry(&method.name).or_default() += node.calls;
        }
        for counted in &self.profile.method_calls {
            let method = &self.profile.methods[counted.method as usize];
            *calls.entry(&method.name).or_default() += counted.calls;
        }
        for (name, expected) in [
            ("step", 3 * loaders),
            ("run", loaders),
            ("m39", loaders),
            ("brief", threads),
            ("leaf", 5 * threads),
        ] {
            let found = calls.get(name).copied();
            ensure!(
                found == Some(expected),
                "{}: {name}: {expected} expected, {found:?} found",
                self.name
            );
        }
        Ok(self)
    }

    /// Checks that the profile has at most `most` rows, and a tree that is no larger than these
    /// rows need.
    fn has_rows(&self, most: usize) -> Result<&Self> {
        let nodes = self.profile.threads.iter().map(|thread| thread.nodes.len());
        let nodes: usize = nodes.sum();
        let own = self.profile.methods.iter();
        let rows = own
            .filter(|method| method.class.starts_with("Churn"))
            .count();
        ensure!(
            rows <= most && (nodes <= 2 * most || self.profile.header.timing == Timing::Sampled),
            "{}: {rows} rows and {nodes} nodes, but at most {most} rows expected",
            self.name
        );
        let heap = self.profile.header.tracker_bytes;
        // With samples, the stripes in which threads count take at most a 256th of the heap.
        let stripes = if self.profile.header.timing == Timing::Sampled {
            (48 << 20) / 256
        } else {
            0
        };
        let expected = 100_000 + stripes + 400 * most as u64;
        ensure!(
            heap < expected,
            "{}: less than {expected} bytes of heap expected for the tracker, {heap} found",
            self.name
        );
        Ok(self)
    }

    /// Returns the number of loaders that share the only row of `step`.
    fn loaders(&self) -> Result<u64> {
        let mut steps = self
            .profile
            .methods
            .iter()
            .filter(|method| &*method.name == "step");
        let step = steps
            .next()
            .context("the profile has no row of the method")?;
        ensure!(
            steps.next().is_none(),
            "{}: one row of `step` expected, more found",
            self.name
        );
        Ok(step.loaders.into())
    }

    /// Returns the growth of native memory between two parts, in kilobytes.
    fn grown(&self, from: usize, to: usize) -> i64 {
        let resident = |part: usize| self.parts[part - 1][2].cast_signed();
        resident(to) - resident(from)
    }
}

/// 6,000 loaders load the same class. The class has one row, and native memory does not grow with
/// the loaders. (It once grew by 3.7 MB for each thousand.)
fn copies_share_rows(feature: u32) -> Result<()> {
    let run = churn(feature, "same", "loaders 6000", "4", "timing=adaptive")?;
    run.counts_all()?.has_rows(ROWS)?;
    ensure!(run.loaders()? == 6000, "{}: {}", run.name, run.loaders()?);
    ensure!(
        run.file < 20_000,
        "{}: a profile of less than 20,000 bytes expected, but it has {}",
        run.name,
        run.file
    );
    let grown = run.grown(2, 4);
    ensure!(
        grown < 5500,
        "{}: less than 5,500 KB more native memory expected, {grown} KB found",
        run.name
    );
    Ok(())
}

/// The same test under each timing, with allocations, and with snapshots.
fn every_mode(feature: u32) -> Result<()> {
    for options in [
        "timing=exact",
        "timing=count",
        "timing=count,snapshot-every=300ms",
        "timing=sampled",
        "timing=sampled,snapshot-every=300ms",
        "timing=adaptive,alloc=exact",
        "timing=adaptive,alloc=sampled",
        "timing=adaptive,alloc=live",
        "timing=count,alloc=live=exact,snapshot-every=1s",
    ] {
        let run = churn(feature, "same", "loaders 1500", "2", options)?;
        run.counts_all()?.has_rows(ROWS)?;
        ensure!(run.loaders()? == 1500, "{}: {}", run.name, run.loaders()?);
        ensure!(
            run.file < 600_000,
            "{}: a profile of less than 600,000 bytes expected, but it has {}",
            run.name,
            run.file
        );
        let Some(allocations) = &run.profile.allocations else {
            continue;
        };
        // Sites are distinguished by thread or group of threads, code and type.
        let own = allocations
            .sites
            .iter()
            .filter(|site| site.type_name.starts_with("Churn$W"));
        let own = own.count();
        ensure!(
            (0..20).contains(&own),
            "{}: fewer than 20 sites expected, {own} found",
            run.name
        );
    }
    Ok(())
}

/// Each loader loads a class of another name, or has another name itself. After some hundreds of
/// loaders were collected, further ones share rows.
fn generated_classes(feature: u32) -> Result<()> {
    for (mode, name, expected) in [
        (
            "generated",
            "Churn$Work#",
            "classes of loaders that come and go",
        ),
        (
            "named",
            "Churn$Work000000",
            "class loaders that come and go",
        ),
    ] {
        let run = churn(feature, mode, "loaders 3000", "10", "timing=count")?;
        // The heap is collected after each part, so at most two parts are alive at a time.
        run.counts_all()?.has_rows(42 * 1300)?;
        let steps = run
            .profile
            .methods
            .iter()
            .filter(|method| &*method.name == "step");
        let most = steps
            .max_by_key(|method| method.loaders)
            .context("the profile has no row of the method")?;
        ensure!(
            &*most.class == name && most.loaders > 1500,
            "{}: {most:?}",
            run.name
        );
        let notes = &run.profile.header.notes;
        ensure!(
            notes.iter().any(|note| note.contains(expected)),
            "{}: {notes:?}",
            run.name
        );
    }
    Ok(())
}

/// Runs for ten minutes, or for `LOADHOOK_SOAK_SECONDS` seconds. Memory must not grow after the
/// first minute.
#[test]
#[ignore = "takes ten minutes for each of LOADHOOK_SOAK_OPTIONS"]
fn soak() -> Result<()> {
    let variable = |name: &str, default: &str| std::env::var(name).unwrap_or(default.to_owned());
    let seconds = variable("LOADHOOK_SOAK_SECONDS", "600");
    let feature = variable("LOADHOOK_SOAK_JDK", "17").parse()?;
    let options = variable(
        "LOADHOOK_SOAK_OPTIONS",
        "timing=adaptive timing=count,alloc=live=exact,snapshot-every=10s",
    );
    let mode = variable("LOADHOOK_SOAK_MODE", "same");
    for options in options.split(' ') {
        let run = churn(feature, &mode, &format!("seconds {seconds}"), "10", options)?;
        println!(
            "{}: {} rows, a file of {} bytes",
            run.name,
            run.profile.methods.len(),
            run.file
        );
        for [loaders, threads, resident] in &run.parts {
            println!("{loaders:>9} loaders {threads:>9} threads {resident:>9} KB");
        }
        run.counts_all()?;
        let grown = run.grown(1, 10);
        ensure!(
            grown < 30_000,
            "{}: less than 30,000 KB more native memory expected, {grown} KB found",
            run.name
        );
    }
    Ok(())
}
