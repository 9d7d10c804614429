//! Test vectors for the profile that the tracker writes without an agent.
//!
//! `tests/vectors/profiles.txt` contains snapshots with the names of their methods. For each, it
//! contains the times and the pprof file that the Rust crates compute. One test compares the file
//! with the output of the Rust crates, so that it notices a change on the Rust side. Another test
//! compares the file with the output of the tracker's Java classes. `BLESS=1` writes the file anew.

#[allow(dead_code, unreachable_pub)]
#[path = "support/dump.rs"]
mod dump;
mod support;

use std::fmt::Write as _;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use loadhook_profile::analysis::{CountingCosts, figures};
use loadhook_profile::format::pprof;
use loadhook_profile::snapshot::Decoder;
use loadhook_profile::{Method, Profile, Symbols};
use loadhook_testkit::process;
use support::{chance::Chance, checks::JDKS, offline};

/// The number of profiles for each timing with each clock.
const ROUNDS: u64 = 4;

/// Java takes this command from a system property, which the test sets.
const COMMAND: &str = "/opt/app/bin/run.jar --name 店 \"quoted\"";
const JVM_NAME: &str = "A \\ VM\t1";
const JVM_VERSION: &str = "17+é";

impl Chance {
    /// Makes a NODE record with random times, which contradict each other more than real estimates
    /// do.
    fn node(&mut self, at: u64, ids: u64, timed: bool) -> Vec<i64> {
        let parent = if at > 0 && self.below(6) > 0 {
            self.below(at) as i64
        } else {
            -1
        };
        let method = self.below(ids + 4) as i64 - 1;
        let calls = 1 + self.below(1 << 20);
        let timed_calls = [0, calls, self.below(calls)][self.below(3) as usize];
        let timed_calls = if timed { timed_calls } else { 0 };
        let most = 1 << self.below(40);
        let all = if timed_calls == 0 {
            0
        } else {
            self.below(most)
        };
        let outermost = match self.below(3) {
            0 => self.below(all + 1),
            _ => all,
        };
        // For every second node, the callees took no longer than the node itself.
        let most_below = if self.below(2) == 0 { all + 1 } else { most };
        let child = if timed { self.below(most_below) } else { 0 };
        let variance = [0.0, self.below(most) as f64 * 1e4][self.below(2) as usize];
        let ticked = [0, self.below(most)][self.below(2) as usize];
        let tick_variance = self.below(most) as f64 * 1e6;
        let doubles = [variance, tick_variance].map(|number| match timed {
            true => number.to_bits() as i64,
            false => 0,
        });
        let ticked = if timed { ticked as i64 } else { 0 };
        let numbers = [calls, timed_calls, all, outermost, child].map(|number| number as i64);
        let mut record = vec![3, parent, method];
        record.extend(numbers);
        record.extend([doubles[0], ticked, doubles[1]]);
        record
    }

    fn thread(&mut self) -> Vec<i64> {
        let name = self.one_of(&[
            "main",
            "",
            "店 1",
            "pool-#-thread-#",
            "a \u{1F600}\n\t\"b\\",
        ]);
        let kind = self.below(3) as i64;
        let id = if kind == 0 {
            self.below(1 << 40) as i64
        } else {
            -1
        };
        let mut record = vec![2, id, kind, name.len() as i64];
        for bytes in name.as_bytes().chunks(8) {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            record.push(i64::from_be_bytes(word));
        }
        record
    }

    /// Makes the methods of one archive. Some names are repeated, others are unusual.
    fn archive(&mut self, base: u64, ids: u64) -> Archive {
        const CLASSES: [&str; 5] = [
            "a.B",
            "a.b.C",
            "店.注文",
            "a.Tab\tand\\slash",
            "Line\r\nend",
        ];
        const NAMES: [&str; 5] = ["run", "<init>", "lambda$0", "é\\t", "x\ny"];
        const DESCRIPTORS: [&str; 8] = [
            "()V",
            "(I)V",
            "(Ljava/lang/String;[[J)La/B;",
            "([BCDFIJSZ)V",
            "(LDefault;[La/b/C$D;)V",
            "(La/B",
            "(Q)V",
            "no descriptor",
        ];
        let mut archive = Archive {
            base,
            ids,
            loader: self.one_of(&["app", "", "web#2", "plugin @é"]).to_owned(),
            loaders: self.one_of(&[1, 1, 3, 227_380]),
            classes: Vec::new(),
            left_alone: vec![
                ("trivial".to_owned(), self.below(1000)),
                ("a reason\twith a tab".to_owned(), 1),
            ],
        };
        for id in 0..ids {
            if id == 0 || self.below(3) == 0 {
                let file = self.one_of(&[None, Some("B.java"), Some("odd\\name\t.java")]);
                let class = self.one_of(&CLASSES).to_owned();
                archive.classes.push((class, file, Vec::new()));
            }
            let line = self.one_of(&[None, Some(1), Some(65_535)]);
            let method = (id, self.one_of(&NAMES), self.one_of(&DESCRIPTORS), line);
            // Every tenth method has no symbol.
            if id % 10 != 9 {
                let class = archive
                    .classes
                    .last_mut()
                    .expect("the first id begins a class");
                class.2.push(method);
            }
        }
        archive
    }
}

/// A class, its source file, and its methods: id, name, descriptor and first line of each.
type Class = (
    String,
    Option<&'static str>,
    Vec<(u64, &'static str, &'static str, Option<u32>)>,
);

struct Archive {
    base: u64,
    ids: u64,
    loader: String,
    loaders: u32,
    classes: Vec<Class>,
    left_alone: Vec<(String, u64)>,
}

impl Archive {
    /// Returns the lines of the archive's symbols file, in the form that `offline/src/symbols.rs` writes.
    fn lines(&self) -> String {
        let mut out = String::new();
        for (name, file, methods) in &self.classes {
            out += &format!("C\t{}\t{}\n", escaped(name), escaped(file.unwrap_or("")));
            for (id, name, descriptor, line) in methods {
                let line = line.map_or(String::new(), |line| line.to_string());
                let [name, descriptor] = [name, descriptor].map(|text| escaped(text));
                out += &format!("M\t{id}\t{name}\t{descriptor}\t{line}\n");
            }
        }
        for (reason, methods) in &self.left_alone {
            out += &format!("S\t{}\t{methods}\n", escaped(reason));
        }
        out
    }

    fn define(&self, symbols: &mut Symbols) {
        for (class, file, methods) in &self.classes {
            for (id, name, descriptor, line) in methods {
                let method = Method {
                    loader: self.loader.as_str().into(),
                    file: file.map(Into::into),
                    line: *line,
                    loaders: self.loaders,
                    ..Method::new(class, name, descriptor)
                };
                symbols.define((self.base + id) as u32, method);
            }
        }
    }
}

fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('\t', "\\t");
    text.replace('\n', "\\n").replace('\r', "\\r")
}

/// A snapshot with the names of its methods: the input of one vector.
struct Snapshot {
    records: Vec<Vec<i64>>,
    archives: Vec<Archive>,
}

impl Snapshot {
    fn random(chance: &mut Chance, timing: i64, clock: i64) -> Snapshot {
        let mut below = |limit| chance.below(limit) as i64;
        let overflowed = [0, below(1 << 30)][below(2) as usize];
        let mut header = vec![
            1,
            2,
            timing,
            clock,
            below(1 << 41),
            below(1 << 50),
            below(1 << 30),
        ];
        header.extend([overflowed, below(200_000), below(200_000), below(50_000)]);
        let mut records = vec![header];
        let mut archives = Vec::new();
        let mut base = 2;
        for _ in 0..2 {
            let ids = 1 + chance.below(12);
            archives.push(chance.archive(base, ids));
            base += ids;
        }
        for _ in 0..2 {
            records.push(chance.thread());
            let nodes = chance.below(14);
            records.extend((0..nodes).map(|at| chance.node(at, base, timing != 2)));
        }
        Snapshot { records, archives }
    }

    fn profile(&self) -> Result<Profile> {
        let mut decoder = Decoder::default();
        for record in &self.records {
            decoder.push(record)?;
        }
        decoder.push(&[4])?;
        let mut symbols = Symbols::default();
        for archive in &self.archives {
            archive.define(&mut symbols);
        }
        let mut profile = symbols.profile(decoder.finish()?);
        let header = &mut profile.header;
        header.command = COMMAND.to_owned();
        header.jvm = format!("{JVM_NAME} {JVM_VERSION}");
        header.version = env!("CARGO_PKG_VERSION").to_owned();
        for (reason, methods) in self.archives.iter().flat_map(|archive| &archive.left_alone) {
            *header.left_alone.entry(reason.clone()).or_default() += methods;
        }
        Ok(profile)
    }

    /// Returns the snapshot as lines, in the form that Java reads.
    fn input(&self) -> String {
        let mut out = String::new();
        for record in &self.records {
            let words: Vec<String> = record.iter().map(i64::to_string).collect();
            out += &format!("RECORD {}\n", words.join(" "));
        }
        for archive in &self.archives {
            let Archive {
                base,
                ids,
                loaders,
                loader,
                ..
            } = archive;
            out += &format!(
                "ARCHIVE {base} {ids} {loaders} {loader}\n{}",
                archive.lines()
            );
        }
        out
    }
}

/// Returns the result of the Rust crates for a snapshot: the pprof file, and for each node the bits of its
/// self time, of its total time, and of their variances.
fn expected(profile: &Profile) -> Result<String> {
    let mut out = String::new();
    for thread in &profile.threads {
        for figure in figures(&thread.nodes, &profile.header, &CountingCosts::default()) {
            let [own, total] = [figure.self_ns, figure.total_ns].map(f64::to_bits);
            let variances = [
                figure.self_variance,
                figure.once_variance,
                figure.total_variance,
            ];
            writeln!(
                out,
                "TIMES {own} {total} VARIANCES {:?}",
                variances.map(f64::to_bits)
            )?;
        }
    }
    let mut file = Vec::new();
    pprof::write(profile, &mut file)?;
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(&file[..]).read_to_end(&mut bytes)?;
    out.push_str(&pprof_text(&bytes)?);
    Ok(out)
}

/// Returns the content of a pprof file as text. The version of Loadhook is replaced, so that it makes no
/// difference.
fn pprof_text(bytes: &[u8]) -> Result<String> {
    let version = env!("CARGO_PKG_VERSION");
    let text = dump::dump(bytes)?.replace(&format!("Loadhook {version}:"), "Loadhook VERSION:");
    let header = format!(", version: {version:?}");
    Ok(text.replace(&header, ", version: VERSION"))
}

/// Returns all vectors as text, and the lines of their snapshots alone.
fn generated() -> Result<(String, String)> {
    let mut chance = Chance(20_240_607);
    let mut vectors = "Generated by tests/vectors.rs; BLESS=1 writes it anew.\n".to_owned();
    let mut input = String::new();
    for _ in 0..ROUNDS {
        for (timing, clock) in [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)] {
            let snapshot = Snapshot::random(&mut chance, timing, clock);
            let lines = format!("SNAPSHOT\n{}", snapshot.input());
            vectors += &lines;
            vectors += &expected(&snapshot.profile()?)?;
            input += &lines;
        }
    }
    Ok((vectors, input))
}

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/profiles.txt")
}

#[test]
fn rust_makes_the_committed_vectors() -> Result<()> {
    let (vectors, _) = generated()?;
    let file = file();
    if std::env::var_os("BLESS").is_some() {
        fs::write(&file, &vectors)?;
    }
    let committed = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    same_lines(&committed, &vectors, "committed")
}

#[test]
fn java_makes_the_committed_vectors() -> Result<()> {
    let program = support::Program::new("Nothing")?;
    offline::tracker(program.folder(), offline::PACKAGE)?;
    let program = program.with("loadhook/Vectors.java")?;
    let vectors = fs::read_to_string(file())?;
    let snapshots = vectors.split("SNAPSHOT\n").skip(1);
    // Variances are left out, because Java does not compute them.
    let expected: String = snapshots.map(outputs).collect();
    let is_input = |line: &&str| !line.starts_with(|c: char| c.is_ascii_lowercase() || c == 'T');
    let input: Vec<&str> = vectors.lines().skip(1).filter(is_input).collect();
    let input_file = program.folder().join("snapshots");
    fs::write(&input_file, input.join("\n") + "\n")?;
    for jdk in JDKS {
        let mut java = program.java(jdk, &[])?;
        java.args([
            "-Dfile.encoding=UTF-8",
            "-Dsun.stdout.encoding=UTF-8",
            "loadhook.Vectors",
        ]);
        java.args([COMMAND, JVM_NAME, JVM_VERSION]);
        java.env("LC_ALL", "C.UTF-8");
        let output = process::output(java.stdin(fs::File::open(&input_file)?))?;
        let mut found = String::new();
        for line in output.lines() {
            match line.strip_prefix("PPROF ") {
                Some(hex) => found += &pprof_text(&from_hex(hex)?)?,
                None => found += &format!("{line}\n"),
            }
        }
        same_lines(&found, &expected, &format!("JDK {jdk}"))?;
    }
    Ok(())
}

/// Returns the lines of a vector that Java must print.
fn outputs(vector: &str) -> String {
    let lines = vector
        .lines()
        .map(|line| match line.split_once(" VARIANCES") {
            Some((times, _)) => times,
            None => line,
        });
    let is_output = |line: &&str| line.starts_with(|c: char| c.is_ascii_lowercase() || c == 'T');
    lines
        .filter(is_output)
        .map(|line| format!("{line}\n"))
        .collect()
}

fn from_hex(text: &str) -> Result<Vec<u8>> {
    let byte = |at: usize| u8::from_str_radix(text.get(at..at + 2).unwrap_or(""), 16);
    let bytes = (0..text.len()).step_by(2).map(byte);
    Ok(bytes.collect::<Result<_, _>>()?)
}

fn same_lines(found: &str, expected: &str, whose: &str) -> Result<()> {
    let mut pairs = found.lines().zip(expected.lines()).enumerate();
    if let Some((at, (found, expected))) = pairs.find(|(_, (found, expected))| found != expected) {
        anyhow::bail!(
            "{whose}, line {at}: the output\n{found}\ndiffers from the expected\n{expected}"
        );
    }
    let [found, expected] = [found, expected].map(|text| text.lines().count());
    ensure!(
        found == expected,
        "{whose}: {expected} lines expected, {found} found"
    );
    Ok(())
}
