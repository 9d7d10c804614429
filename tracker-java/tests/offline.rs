//! Rewritten archives count without an agent and write their profile themselves.

#[allow(dead_code)]
#[path = "../../profile/tests/schema/mod.rs"]
mod schema;
mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use loadhook_profile::figures::figures;
use loadhook_profile::format::pprof;
use loadhook_profile::{Clock, Header, Node, ProbeCosts, Profile, ThreadKind, Timing};
use loadhook_tests::helpers;
use loadhook_tests::jdk::Jdk;
use support::offline::{self, Run, calls, work};
use tempfile::TempDir;

const JDKS: [u32; 2] = [17, 25];

/// How often `Work.main` calls each method of its recursion.
#[derive(Default)]
struct Recursion {
    expression: u64,
    sum: u64,
    other: u64,
}

impl Recursion {
    fn of_main() -> Recursion {
        let mut calls = Recursion::default();
        (0..100).for_each(|_| calls.expression(6));
        calls
    }

    fn expression(&mut self, depth: u32) {
        self.expression += 1;
        if depth > 0 {
            self.sum(depth - 1);
            self.other += 1;
            if depth > 1 {
                self.sum(depth - 2);
            }
        }
    }

    fn sum(&mut self, depth: u32) {
        self.sum += 1;
        self.expression(depth.saturating_sub(1));
    }
}

/// What is always counted when `Work.main` has run.
fn check_work(profile: &Profile, mains: u64) -> Result<()> {
    let recursion = Recursion::of_main();
    let edges = [
        ("", "Work.main", 1),
        ("", "Work.work", 4),
        ("Work.work", "Work.outer", 4000),
        ("Work.outer", "Work.inner", 6000),
        ("Work.lambda$main$0", "Work.keep", 1),
        ("Work.keep", "Work.inner", 10),
        ("Work.main", "Work.end", 1),
    ];
    for (caller, method, expected) in edges {
        let found = calls(profile, caller, method);
        ensure!(found == mains * expected, "{caller} {method} {found}");
    }
    let inner = 6010 + recursion.expression + recursion.sum;
    let totals = [
        ("expression", recursion.expression),
        ("sum", recursion.sum),
        ("other", recursion.other),
        ("inner", inner),
    ];
    for (name, expected) in totals {
        let found = total(profile, name);
        ensure!(found == mains * expected, "{name} {found}, not {expected}");
    }
    Ok(())
}

/// Calls of the methods of a name.
fn total(profile: &Profile, name: &str) -> u64 {
    let nodes = profile.threads.iter().flat_map(|thread| &thread.nodes);
    let named = nodes.filter(|node| &*profile.methods[node.method as usize].name == name);
    named.map(|node| node.calls).sum()
}

/// What another tool sees in a profile.
fn public(file: &[u8]) -> Result<schema::Profile> {
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(file).read_to_end(&mut bytes)?;
    Ok(schema::Profile::decode(&bytes))
}

/// The file says to other tools what ours says of our own fields.
fn check_public(file: &[u8]) -> Result<schema::Profile> {
    let profile = pprof::read(file)?;
    let mut again = Vec::new();
    pprof::write(&profile, &mut again)?;
    let (found, expected) = (public(file)?, public(&again)?);
    let text = |profile: &schema::Profile| format!("{profile:#?}");
    ensure!(!found.samples.is_empty());
    similar(&text(&found), &text(&expected))?;
    Ok(found)
}

fn similar(found: &str, expected: &str) -> Result<()> {
    for (found, expected) in found.lines().zip(expected.lines()) {
        ensure!(found == expected, "{found} is not {expected}");
    }
    ensure!(found.len() == expected.len());
    Ok(())
}

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
            .context("a file")??;
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
                "{timing} {clock}: {sum} ns"
            );
            let is_total = |sample: &&schema::Sample| sample.labels.contains_key("total");
            let totals = found.samples.iter().filter(is_total).count();
            ensure!(timing != "count" || totals == 0, "{totals}");
            totals_seen += totals;
            if clock == "cpu" {
                // The keeper waits all the time, which takes none of the processor's.
                let wall = profile.header.duration_ns as i64;
                ensure!(sum < 2 * wall, "{sum} of {wall} ns");
            }
        }
    }
    // Sums are entered from expressions that they called. In one run the probes' cost may hide it.
    ensure!(totals_seen > 0);
    Ok(())
}

/// Several JVMs of one command that look for a name at the same time.
#[test]
fn each_process_finds_a_name() -> Result<()> {
    let archive = work(&[])?;
    let folder = tempfile::tempdir()?;
    let jvm = ["-Dloadhook.append=true", "-Dloadhook.file=x.pb.gz"];
    let start = |_| {
        let mut java = Jdk::find(17)?.java();
        java.args(jvm).arg("-cp").arg(archive.path()).arg("Work");
        java.current_dir(folder.path()).stdout(Stdio::null());
        Ok(java.spawn()?)
    };
    let processes: Vec<_> = (0..6).map(start).collect::<Result<_>>()?;
    for mut process in processes {
        ensure!(process.wait()?.success());
    }
    for name in ["x", "x.2", "x.3", "x.4", "x.5", "x.6"] {
        let file = fs::read(folder.path().join(format!("{name}.pb.gz")));
        check_work(&pprof::read(&file.context(name)?)?, 1)?;
    }
    ensure!(fs::read_dir(folder.path())?.count() == 6);
    Ok(())
}

#[test]
fn later_settings_win() -> Result<()> {
    let folder = work(&[])?;
    let properties = folder.path().join("loadhook.properties");
    fs::write(
        &properties,
        "# ours\ntiming = count\nmax-nodes = 5\nfile: from-file-%p.pb.gz\n",
    )?;
    let run = |jvm: &[&str], environment: &[(&str, &str)]| {
        Run::within(
            tempfile::tempdir()?,
            17,
            jvm,
            folder.path(),
            &["Work"],
            environment,
        )
    };
    let only = |run: &Run| -> Result<(String, Profile)> {
        ensure!(run.told.is_empty(), "{}", run.stderr);
        let files = run.files()?;
        ensure!(files.len() == 1, "{files:?}");
        Ok((files[0].clone(), run.profile(&files[0])?))
    };
    let (name, profile) = only(&run(&[], &[])?)?;
    let id = name
        .trim_start_matches("from-file-")
        .trim_end_matches(".pb.gz");
    ensure!(id.parse::<u32>().is_ok(), "{name}");
    ensure!(profile.header.timing == Timing::Count && profile.header.overflowed_calls > 0);
    let all: u64 = profile.calls();

    let environment = [
        ("LOADHOOK_TIMING", "exact"),
        ("LOADHOOK_MAX_NODES", "1000"),
        ("LOADHOOK_FILE", "from-environment.pb.gz"),
        ("LOADHOOK_CLOCK", ""),
    ];
    let (name, profile) = only(&run(&[], &environment)?)?;
    ensure!(name == "from-environment.pb.gz");
    ensure!(profile.header.timing == Timing::Exact && profile.header.overflowed_calls == 0);
    ensure!(profile.calls() == all, "{} {all}", profile.calls());

    let jvm = [
        "-Dloadhook.timing=adaptive",
        "-Dloadhook.file=from-option.pb.gz",
    ];
    let (name, profile) = only(&run(&jvm, &environment)?)?;
    ensure!(name == "from-option.pb.gz");
    ensure!(profile.header.timing == Timing::Adaptive && profile.header.overflowed_calls == 0);

    let off = run(&["-Dloadhook.dump-on-exit=false"], &[])?;
    ensure!(off.code == Some(0) && off.told.is_empty() && off.files()?.is_empty());
    Ok(())
}

/// As with the agent: a folder is called what it is called.
#[test]
fn the_process_id_goes_into_the_name_only() -> Result<()> {
    let archive = work(&[])?;
    let folder = tempfile::tempdir()?;
    let place = folder.path().join("a%p");
    fs::create_dir(&place)?;
    let jvm = ["-Dloadhook.file=a%p/%p.pb.gz"];
    let run = Run::within(folder, 17, &jvm, archive.path(), &["Work"], &[])?;
    ensure!(run.told.is_empty(), "{}", run.stderr);
    let file = fs::read_dir(&place)?.next().context("a file")??.path();
    let name = file.file_name().context("a name")?.to_string_lossy();
    let id = name.trim_end_matches(".pb.gz");
    ensure!(id.parse::<u32>().is_ok(), "{name}");
    check_work(&pprof::read(&fs::read(&file)?)?, 1)
}

#[test]
fn bad_values_are_told_and_ignored() -> Result<()> {
    let folder = work(&[])?;
    let properties = folder.path().join("loadhook.properties");
    fs::write(&properties, "timing=fast\ntming=exact\n")?;
    let jvm = [
        "-Dloadhook.max-nodes=0",
        "-Dloadhook.clock=sundial",
        "-Dloadhook.append=yes",
    ];
    for jdk in JDKS {
        let environment = [("LOADHOOK_DUMP_ON_EXIT", "perhaps")];
        let run = Run::within(
            tempfile::tempdir()?,
            jdk,
            &jvm,
            folder.path(),
            &["Work", "exit"],
            &environment,
        )?;
        ensure!(run.code == Some(7) && run.stdout == "the sum is positive\n");
        let expected = [
            "loadhook: loadhook.properties: unknown setting tming",
            "loadhook: loadhook.properties: timing=fast: adaptive, exact or count expected; adaptive is used",
            "loadhook: -Dloadhook.clock=sundial: wall or cpu expected; wall is used",
            "loadhook: -Dloadhook.max-nodes=0: a number from 1 to 100000000 expected; 1000000 is used",
            "loadhook: LOADHOOK_DUMP_ON_EXIT=perhaps: true or false expected; true is used",
            "loadhook: -Dloadhook.append=yes: true or false expected; false is used",
        ];
        ensure!(run.told == expected, "{:#?}", run.told);
        check_work(&run.profile("loadhook-%p.pb.gz")?, 1)?;
    }
    // Not even a file of properties.
    fs::write(&properties, "timing=\\u12\n")?;
    let run = Run::new(17, &[], folder.path(), &["Work"])?;
    ensure!(
        run.told.len() == 1 && run.told[0].starts_with("loadhook: loadhook.properties: Malformed"),
        "{:?}",
        run.told
    );
    check_work(&run.profile("loadhook-%p.pb.gz")?, 1)
}

#[test]
fn what_cannot_be_written_leaves_the_old_file() -> Result<()> {
    let folder = work(&[])?;
    for jdk in JDKS {
        for (file, reason) in [
            ("missing/x.pb.gz", "missing/x.pb.gz"),
            (".", "is a directory"),
        ] {
            let option = format!("-Dloadhook.file={file}");
            let run = Run::new(jdk, &[&option], folder.path(), &["Work", "exit"])?;
            ensure!(run.code == Some(7) && run.stdout == "the sum is positive\n");
            let [told] = &run.told[..] else {
                anyhow::bail!("{}", run.stderr);
            };
            ensure!(
                told.starts_with("loadhook: no profile: ") && told.contains(reason),
                "{told}"
            );
            ensure!(run.files()?.is_empty());
        }
        // No file may grow beyond a block, as on a full disk.
        let limited = tempfile::tempdir()?;
        fs::write(limited.path().join("x.pb.gz"), "the old one")?;
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -f 1; exec \"$0\" \"$@\""]);
        command.arg(Jdk::find(jdk)?.home.join("bin/java"));
        command.args(["-XX:-UsePerfData", "-Dloadhook.file=x.pb.gz", "-cp"]);
        command.arg(folder.path()).args(["Work", "exit"]);
        let run = Run::of(limited, command)?;
        ensure!(run.code == Some(7), "{}", run.stderr);
        ensure!(
            run.told.len() == 1 && run.told[0].starts_with("loadhook: no profile: "),
            "{}",
            run.stderr
        );
        ensure!(run.files()? == ["x.pb.gz"] && run.bytes("x.pb.gz")? == b"the old one");
    }
    Ok(())
}

#[test]
fn a_new_run_replaces_or_comes_beside() -> Result<()> {
    let folder = work(&[])?;
    let mut run = Run::new(17, &["-Dloadhook.file=x.pb.gz"], folder.path(), &["Work"])?;
    for (jvm, files) in [
        ("-Dloadhook.append=false", &["x.pb.gz"][..]),
        ("-Dloadhook.append=true", &["x.2.pb.gz", "x.pb.gz"]),
        (
            "-Dloadhook.append=true",
            &["x.2.pb.gz", "x.3.pb.gz", "x.pb.gz"],
        ),
        (
            "-Dloadhook.append=false",
            &["x.2.pb.gz", "x.3.pb.gz", "x.pb.gz"],
        ),
    ] {
        let before = run.bytes("x.pb.gz")?;
        let jvm = [jvm, "-Dloadhook.file=x.pb.gz"];
        run = Run::within(run.folder, 17, &jvm, folder.path(), &["Work"], &[])?;
        ensure!(run.told.is_empty(), "{}", run.stderr);
        ensure!(run.files()? == files, "{:?}", run.files()?);
        let replaces = jvm[0].ends_with("false");
        ensure!((run.bytes("x.pb.gz")? != before) == replaces);
    }
    for name in ["x.pb.gz", "x.2.pb.gz", "x.3.pb.gz"] {
        let profile = run.profile(name)?;
        check_work(&profile, 1)?;
        ensure!(profile.header.notes.is_empty());
    }
    Ok(())
}

/// Numbers by chance, the same in each run (Marsaglia's xorshift).
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    /// Times that contradict each other as those of a sample do, and worse.
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
            variance: 0.0,
        }
    }
}

/// Figures in Java are those in Rust, to the last bit, for trees that no program makes, too.
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
            ..Header::default()
        };
        let size = 1 + chance.below(60);
        let nodes: Vec<Node> = (0..size).map(|at| chance.node(at)).collect();
        let probe = header.probe;
        writeln!(
            input,
            "{} 0 0 0 0 0 {} {} {}",
            tree % 2,
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
                "{} {} {} 0",
                node.all_ns, node.outermost_ns, node.child_ns
            )?;
        }
        let figures = figures(&nodes, &header);
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
        let output = helpers::output(&mut java)?;
        similar(&output, &(expected.join("\n") + "\n"))?;
    }
    Ok(())
}

#[test]
fn a_tracker_a_loader() -> Result<()> {
    let folder = work(&[])?;
    let plain = tempfile::tempdir()?;
    support::compile(plain.path(), &[support::java("offline/PlainLoaders.java")])?;
    let jar = folder.path().to_string_lossy();
    for jdk in JDKS {
        let run = Run::new(jdk, &[], plain.path(), &["PlainLoaders", &jar, "3"])?;
        ensure!(run.told.is_empty() && run.code == Some(0), "{}", run.stderr);
        let files = [
            "loadhook-%p.2.pb.gz",
            "loadhook-%p.3.pb.gz",
            "loadhook-%p.pb.gz",
        ];
        ensure!(run.files()? == files, "{:?}", run.files()?);
        let mut loaders = BTreeSet::new();
        let mut profiles = Vec::new();
        for name in files {
            let profile = run.profile(name)?;
            check_work(&profile, 1)?;
            let [note] = &profile.header.notes[..] else {
                anyhow::bail!("{:?}", profile.header.notes);
            };
            ensure!(note.starts_with("3 trackers in this process"), "{note}");
            let names: BTreeSet<String> = profile
                .methods
                .iter()
                .map(|method| method.loader.to_string())
                .collect();
            ensure!(names.len() == 1, "{names:?}");
            loaders.extend(names);
            check_public(&run.bytes(name)?)?;
            profiles.push(profile);
        }
        let class = "java.net.URLClassLoader";
        let expected = [class.to_owned(), format!("{class}#2"), format!("{class}#3")];
        ensure!(loaders.iter().eq(&expected), "{loaders:?}");
        // Together they are the profile of one process.
        let merged = loadhook_profile::merge(&profiles)?;
        check_work(&merged, 3)?;
        ensure!(merged.header.notes.len() == 1, "{:?}", merged.header.notes);
        ensure!(merged.header.process == profiles[0].header.process);
        let outer = merged.methods.iter().filter(|m| &*m.name == "outer");
        ensure!(outer.count() == 3);
        let sum: u64 = profiles.iter().map(|p| p.header.duration_ns).sum();
        ensure!(merged.header.duration_ns < sum);
    }
    Ok(())
}

/// All that a profile takes is loaded at the start: a loader may be closed at the end.
#[test]
fn classes_are_loaded_early() -> Result<()> {
    let folder = work(&[])?;
    for jdk in JDKS {
        let jvm = ["-Xlog:class+load", "-Dloadhook.dump-on-exit=false"];
        let run = Run::new(jdk, &jvm, folder.path(), &["Work"])?;
        let all = loadhook_tracker::CLASSES
            .iter()
            .chain(loadhook_tracker::OFFLINE_CLASSES);
        let mut missing: Vec<&str> = all
            .map(|(name, _)| *name)
            .filter(|name| {
                let line = format!("] {} source:", name.replace('/', "."));
                !run.stdout.contains(&line)
            })
            .collect();
        // For archives with trackers of their own.
        missing
            .retain(|name| !name.starts_with("loadhook/Shared") && *name != "loadhook/Elsewhere");
        // The template is there under another name; threads have final ids from JDK 19 on.
        let expected = match jdk {
            17 => &["loadhook/Part"][..],
            _ => &["loadhook/Memory", "loadhook/Part"],
        };
        missing.sort_unstable();
        ensure!(missing == expected, "{jdk}: {missing:?}");
    }
    Ok(())
}

/// One archive in two loaders below the one that has the tracker: its ids are there twice.
#[test]
fn a_tracker_above_two_loaders() -> Result<()> {
    let above = tempfile::tempdir()?;
    offline::tracker(above.path(), offline::PACKAGE)?;
    support::compile(above.path(), &[support::java("offline/PlainLoaders.java")])?;
    let below = tempfile::tempdir()?;
    offline::archive(
        below.path(),
        &["Work"],
        "00000000000000aa",
        offline::PACKAGE,
    )?;
    let jar = above.path().join("below # 1.jar");
    let mut tool = Jdk::find(17)?.tool("jar")?;
    tool.arg("cf")
        .arg(&jar)
        .arg("-C")
        .arg(below.path())
        .arg(".");
    helpers::output(&mut tool)?;
    let places = [below.path(), &jar].map(|place| place.to_string_lossy());
    for (jdk, place) in [
        (17, &places[0]),
        (17, &places[1]),
        (25, &places[0]),
        (25, &places[1]),
    ] {
        let run = Run::new(jdk, &[], above.path(), &["PlainLoaders", place, "2"])?;
        let profile = run.only()?;
        check_work(&profile, 2)?;
        for loader in ["java.net.URLClassLoader", "java.net.URLClassLoader#2"] {
            let of_loader =
                |m: &loadhook_profile::Method| &*m.loader == loader && &*m.name == "outer";
            let outer = profile
                .methods
                .iter()
                .position(of_loader)
                .context("outer")?;
            let nodes = profile.threads.iter().flat_map(|thread| &thread.nodes);
            let found: u64 = nodes
                .filter(|node| node.method as usize == outer)
                .map(|node| node.calls)
                .sum();
            ensure!(found == 4000, "{loader} {found}");
        }
        // Names with their loaders, too.
        check_public(&run.bytes("loadhook-%p.pb.gz")?)?;
    }
    Ok(())
}

#[test]
fn two_archives_with_the_same_ids() -> Result<()> {
    let folder = tempfile::tempdir()?;
    offline::tracker(folder.path(), offline::PACKAGE)?;
    let sources = ["Alpha", "Beta"].map(|name| support::java(&format!("offline/{name}.java")));
    support::compile(folder.path(), &sources)?;
    offline::rewrite(
        folder.path(),
        "aaaaaaaaaaaaaaaa",
        offline::PACKAGE,
        |class| class == "Alpha",
    )?;
    offline::rewrite(
        folder.path(),
        "bbbbbbbbbbbbbbbb",
        offline::PACKAGE,
        |class| class == "Beta",
    )?;
    for jdk in JDKS {
        let run = Run::new(jdk, &[], folder.path(), &["Alpha"])?;
        let profile = run.only()?;
        let names = check_public(&run.bytes("loadhook-%p.pb.gz")?)?.names;
        let overload = "Alpha.one(int, int[][], String, double, Object[])";
        ensure!(names.iter().any(|name| name == overload), "{names:?}");
        let edges = [
            ("", "Alpha.main", 1),
            ("Alpha.main", "Alpha.one", 11),
            ("Alpha.main", "Alpha.<init>", 1),
            ("Alpha.one", "Beta.two", 20),
            ("Beta.two", "Beta.three", 20),
            ("Beta.two", "Alpha.back", 20),
        ];
        for (caller, method, expected) in edges {
            let found = calls(&profile, caller, method);
            ensure!(found == expected, "{jdk}: {caller} {method} {found}");
        }
        ensure!(profile.calls() == 73, "{}", profile.calls());
        ensure!(profile.header.left_alone["a reason"] == 14);
    }
    Ok(())
}

#[test]
fn a_package_of_its_own() -> Result<()> {
    let package = "loadhook/m0123456789abcdef";
    let folder = tempfile::tempdir()?;
    offline::tracker(folder.path(), package)?;
    offline::archive(folder.path(), &["Work"], "0123456789abcdef", package)?;
    ensure!(!folder.path().join("loadhook/Tracker.class").exists());
    for jdk in JDKS {
        let run = Run::new(jdk, &["-Xverify:all"], folder.path(), &["Work"])?;
        let told: Vec<&String> = run.told.iter().collect();
        ensure!(told.is_empty() && run.code == Some(0), "{}", run.stderr);
        check_work(&run.profile("loadhook-%p.pb.gz")?, 1)?;
    }
    Ok(())
}

#[test]
fn many_threads_meet_the_first_probe() -> Result<()> {
    let folder = work(&["PlainStart"])?;
    for jdk in JDKS {
        for _ in 0..5 {
            let profile = Run::new(
                jdk,
                &["-Dloadhook.timing=exact"],
                folder.path(),
                &["PlainStart"],
            )?
            .only()?;
            for (caller, method, expected) in [
                ("", "Work.work", 8),
                ("Work.work", "Work.outer", 8000),
                ("Work.outer", "Work.inner", 12_000),
            ] {
                let found = calls(&profile, caller, method);
                ensure!(found == expected, "{jdk}: {caller} {method} {found}");
            }
            let nodes = profile.threads.iter().flat_map(|thread| &thread.nodes);
            let untimed = nodes.filter(|node| node.timed != node.calls).count();
            ensure!(untimed == 0, "{jdk}: {untimed} nodes of another mode");
        }
    }
    Ok(())
}

#[test]
fn a_program_asks_for_its_profile() -> Result<()> {
    let folder = work(&["PlainDump"])?;
    for jdk in JDKS {
        let jvm = ["-Dloadhook.dump-on-exit=false"];
        for (arguments, works) in [(&["PlainDump"][..], 1), (&["PlainDump", "again"], 2)] {
            let run = Run::new(jdk, &jvm, folder.path(), arguments)?;
            ensure!(run.code == Some(3), "{}", run.stderr);
            let found = calls(&run.only()?, "Work.work", "Work.outer");
            ensure!(found == works * 1000, "{found}");
        }
    }
    Ok(())
}

/// What is written while threads run on is whole, and no call that ended before is missing.
#[test]
fn threads_run_on_at_the_end() -> Result<()> {
    let folder = work(&["PlainBusy"])?;
    for jdk in JDKS {
        for timing in ["-Dloadhook.timing=adaptive", "-Dloadhook.timing=exact"] {
            let run = Run::new(jdk, &[timing], folder.path(), &["PlainBusy"])?;
            let profile = run.only()?;
            check_public(&run.bytes("loadhook-%p.pb.gz")?)?;
            let works = calls(&profile, "", "Work.work");
            let outers = calls(&profile, "Work.work", "Work.outer");
            ensure!(
                works > 4 && outers >= (works - 4) * 1000,
                "{works} {outers}"
            );
            let live = profile
                .threads
                .iter()
                .filter(|thread| &*thread.name == "busy");
            ensure!(live.count() == 4);
        }
    }
    Ok(())
}

/// An archive of one of the other tests' programs, with its tracker.
fn other(name: &str) -> Result<TempDir> {
    let folder = tempfile::tempdir()?;
    offline::tracker(folder.path(), offline::PACKAGE)?;
    let source = format!("../{name}");
    offline::archive(
        folder.path(),
        &[&source],
        "0123456789abcdef",
        offline::PACKAGE,
    )?;
    Ok(folder)
}

/// The part's calls are one more place where the stack may end.
#[test]
fn caught_stack_overflows() -> Result<()> {
    let folder = other("StackOverflow")?;
    for jdk in JDKS {
        for jvm in ["-Xint", "-XX:TieredStopAtLevel=1", "-Dcompiled=all"] {
            let run = Run::new(jdk, &[jvm], folder.path(), &["StackOverflow"])?;
            let profile = run.only()?;
            let expected = support::expectations(&run.stdout);
            let edges = [
                ("StackOverflow.run", "StackOverflow.attempt", 200),
                ("StackOverflow.run", "StackOverflow.after", 200),
                (
                    "StackOverflow.attempt",
                    "StackOverflow.after",
                    expected["caught"],
                ),
            ];
            for (caller, method, expected) in edges {
                let found = calls(&profile, caller, method);
                ensure!(found == expected, "{jdk} {jvm}: {caller} {method} {found}");
            }
            let total = |name| total(&profile, name);
            ensure!(total("leaf") == expected["leaves"], "{jdk} {jvm}");
            let recursions = total("recurse") + total("wider");
            ensure!(recursions == expected["recursions"], "{jdk} {jvm}");
        }
    }
    Ok(())
}

/// Of virtual threads the JVM tells no processor time.
#[test]
fn virtual_threads() -> Result<()> {
    let folder = other("Virtual")?;
    for clock in ["wall", "cpu"] {
        let clock_option = format!("-Dloadhook.clock={clock}");
        let jvm = ["-Xmx1g", "-Dsequence=20000", &clock_option];
        let run = Run::new(25, &jvm, folder.path(), &["Virtual"])?;
        let profile = run.only()?;
        ensure!(profile.header.clock.as_str() == clock);
        let edges = [
            ("", "Virtual.one", 100_000),
            ("Virtual.one", "Virtual.two", 100_000),
            ("Virtual.two", "Virtual.three", 200_000),
            ("", "Virtual.brief", 20_000),
            ("Virtual.brief", "Virtual.leaf", 20_000),
        ];
        for (caller, method, expected) in edges {
            let found = calls(&profile, caller, method);
            ensure!(found == expected, "{clock}: {caller} {method} {found}");
        }
        check_public(&run.bytes("loadhook-%p.pb.gz")?)?;
    }
    Ok(())
}

/// Where even the tracker's own needs are missing.
#[test]
fn a_jvm_without_modules() -> Result<()> {
    let folder = work(&[])?;
    for jdk in JDKS {
        let jvm = ["--limit-modules", "java.base", "-Dloadhook.clock=cpu"];
        let run = Run::new(jdk, &jvm, folder.path(), &["Work", "exit"])?;
        ensure!(run.code == Some(7), "{}", run.stderr);
        ensure!(
            run.told.len() == 1 && run.told[0].contains("so the clock is wall"),
            "{}",
            run.stderr
        );
        let profile = run.profile("loadhook-%p.pb.gz")?;
        ensure!(profile.header.clock == Clock::Wall);
        check_work(&profile, 1)?;
    }
    Ok(())
}

#[test]
fn a_security_manager_forbids_all() -> Result<()> {
    let folder = work(&[])?;
    let run = Run::new(17, &["-Djava.security.manager"], folder.path(), &["Work"])?;
    ensure!(
        run.code == Some(0) && run.stdout == "the sum is positive\n",
        "{}",
        run.stderr
    );
    ensure!(
        !run.told.is_empty() && run.files()?.is_empty(),
        "{}",
        run.stderr
    );
    Ok(())
}

/// A missing class of the tracker, or damaged symbols: the program runs, and what can be told is.
#[test]
fn a_damaged_archive() -> Result<()> {
    for jdk in JDKS {
        let folder = work(&[])?;
        let symbols = folder
            .path()
            .join("META-INF/loadhook/0123456789abcdef.symbols");
        for (text, note) in [
            (Some("loadhook symbols 2\n"), "not of this version"),
            (None, "META-INF"),
        ] {
            match text {
                Some(text) => fs::write(&symbols, text)?,
                None => fs::remove_file(&symbols)?,
            }
            let profile = Run::new(jdk, &[], folder.path(), &["Work"])?.only()?;
            ensure!(
                profile.header.notes.len() == 1 && profile.header.notes[0].contains(note),
                "{:?}",
                profile.header
            );
            let outer = profile
                .methods
                .iter()
                .all(|method| &*method.class == "(unknown)");
            ensure!(outer && profile.calls() > 10_000);
        }
        fs::remove_file(folder.path().join("loadhook/Tracker.class"))?;
        let run = Run::new(jdk, &[], folder.path(), &["Work", "exit"])?;
        ensure!(
            run.code == Some(7) && run.stdout == "the sum is positive\n",
            "{}",
            run.stderr
        );
        ensure!(
            run.told.len() == 1 && run.files()?.is_empty(),
            "{}",
            run.stderr
        );
        fs::remove_file(folder.path().join("loadhook/Parts.class"))?;
        let run = Run::new(jdk, &[], folder.path(), &["Work", "exit"])?;
        ensure!(
            run.code == Some(7) && run.told.len() == 1 && run.told[0].contains("is missing"),
            "{}",
            run.stderr
        );
    }
    Ok(())
}

/// The JVM that ends at the first failed allocation does not end for our sake.
#[test]
fn a_full_heap() -> Result<()> {
    // Orders of one to five of twelve methods.
    let nodes = 12 + 132 + 1320 + 11_880 + 95_040;
    let folder = work(&["Many", "PlainFull"])?;
    for jdk in JDKS {
        let jvm = [
            "-Xmx160m",
            "-XX:+UseSerialGC",
            "-XX:+ExitOnOutOfMemoryError",
            "-Dloadhook.timing=exact",
        ];
        let (mut profiles, mut full) = (0, 0);
        for megabytes in (30..160).step_by(10) {
            let arguments = ["PlainFull", &megabytes.to_string()];
            let run = Run::new(jdk, &jvm, folder.path(), &arguments)?;
            if run.code != Some(0) {
                // The program's own need.
                ensure!(!run.stdout.contains("full"), "{megabytes}: {}", run.stderr);
            } else if run.files()?.is_empty() {
                full += 1;
                let [told] = &run.told[..] else {
                    anyhow::bail!("{}", run.stderr);
                };
                ensure!(told.ends_with(": the heap is full"), "{told}");
            } else {
                profiles += 1;
                let found = run.only()?.calls();
                ensure!(found == nodes, "{jdk} {megabytes}: {found}");
            }
        }
        println!("{jdk}: {profiles} profiles, {full} heaps too full for one");
        ensure!(profiles > 0 && full > 0);
    }
    Ok(())
}
