//! Reads the snapshot that `loadhook.Run` prints.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context, Result, ensure};

#[derive(Debug, Default)]
pub struct Profile {
    /// Number of calls on the main thread's path before the snapshot was taken.
    pub depth: usize,
    pub header: Vec<i64>,
    pub threads: Vec<Thread>,
    /// Number of calls of methods that were counted by method alone.
    pub counted: BTreeMap<String, i64>,
    /// Timed calls of methods by the numbers of their ranges of durations.
    pub durations: BTreeMap<String, BTreeMap<i64, i64>>,
    pub expected: BTreeMap<String, u64>,
}

#[derive(Debug, Default)]
pub struct Thread {
    pub kind: i64,
    pub name: String,
    pub nodes: Vec<Node>,
}

#[derive(Clone, Debug, Default)]
pub struct Node {
    pub parent: Option<usize>,
    pub method: String,
    pub calls: i64,
    pub timed: i64,
    pub all: i64,
    pub outermost: i64,
    pub child: i64,
    pub variance: f64,
}

impl Profile {
    pub fn read(output: &str, methods: &[String]) -> Result<Profile> {
        let mut profile = Profile {
            expected: super::expectations(output),
            ..Profile::default()
        };
        let mut ended = false;
        for line in output.lines() {
            if let Some(depth) = line.strip_prefix("depth ") {
                profile.depth = depth.parse()?;
            }
            let Some(record) = line.strip_prefix("record ") else {
                continue;
            };
            ensure!(!ended, "a record follows the record that ends the profile");
            let words = record
                .split(' ')
                .map(str::parse)
                .collect::<Result<Vec<i64>, _>>()?;
            match words[0] {
                1 => profile.header = words,
                2 => profile.threads.push(thread(&words)?),
                3 => {
                    let thread = profile
                        .threads
                        .last_mut()
                        .context("a node without a thread")?;
                    let node = node(&words, methods);
                    ensure!(
                        node.parent.is_none_or(|parent| parent < thread.nodes.len()),
                        "a node comes before its parent"
                    );
                    thread.nodes.push(node);
                }
                6 => {
                    let method = &methods[usize::try_from(words[1])?];
                    *profile.counted.entry(method.clone()).or_default() += words[2];
                }
                7 => {
                    let method = &methods[usize::try_from(words[1])?];
                    let ranges = profile.durations.entry(method.clone()).or_default();
                    for word in &words[3..] {
                        *ranges.entry(word % 1024).or_default() += word / 1024;
                    }
                }
                _ => ended = true,
            }
        }
        ensure!(ended, "the record that ends the profile is missing");
        Ok(profile)
    }

    /// Returns the call tree of the threads named `thread` as indented, sorted lines: a method and its
    /// number of calls.
    pub fn tree(&self, thread: &str) -> String {
        let mut text = String::new();
        for thread in self.threads.iter().filter(|found| found.name == thread) {
            thread.print(None, 0, &mut text);
        }
        text
    }

    /// Returns the number of calls of a method from a caller, summed over all threads. The caller `""` stands
    /// for none.
    pub fn calls(&self, caller: &str, method: &str) -> i64 {
        let mut calls = 0;
        for thread in &self.threads {
            for node in thread.nodes.iter().filter(|node| node.method == method) {
                if node
                    .parent
                    .map_or("", |parent| &thread.nodes[parent].method)
                    == caller
                {
                    calls += node.calls;
                }
            }
        }
        calls
    }

    /// Returns the number of calls of a method, from all callers in all threads.
    pub fn method_calls(&self, method: &str) -> i64 {
        let nodes = self.threads.iter().flat_map(|thread| &thread.nodes);
        nodes
            .filter(|node| node.method == method)
            .map(|node| node.calls)
            .sum()
    }

    /// Returns the number of all calls, including those without a node.
    pub fn all_calls(&self) -> i64 {
        self.threads
            .iter()
            .flat_map(|thread| &thread.nodes)
            .map(|node| node.calls)
            .sum()
    }

    /// Checks the rules that the times of every run obey. Estimates may differ by three standard
    /// errors.
    pub fn check_times(&self) -> Result<()> {
        let wall = self.header[5] as f64;
        for thread in &self.threads {
            let roots = || thread.nodes.iter().filter(|node| node.parent.is_none());
            let total: i64 = roots().map(|node| node.outermost).sum();
            let error = roots().map(|node| node.variance).sum::<f64>().sqrt();
            let fits = total as f64 <= wall + 3.0 * error;
            ensure!(
                thread.kind != 0 || fits,
                "{}: the times sum up to {total} ns ± {error}, but the program ran only {wall} ns",
                thread.name
            );
            for node in &thread.nodes {
                ensure!(node.timed <= node.calls, "{node:?}");
                ensure!(node.outermost <= node.all && node.all >= 0, "{node:?}");
            }
        }
        Ok(())
    }
}

impl Thread {
    fn print(&self, parent: Option<usize>, depth: usize, text: &mut String) {
        let indexes = 0..self.nodes.len();
        let mut children: Vec<usize> = indexes
            .filter(|&at| self.nodes[at].parent == parent)
            .collect();
        children.sort_by_key(|&at| &self.nodes[at].method);
        for at in children {
            let node = &self.nodes[at];
            let _ = writeln!(text, "{}{} {}", "  ".repeat(depth), node.method, node.calls);
            self.print(Some(at), depth + 1, text);
        }
    }
}

fn thread(words: &[i64]) -> Result<Thread> {
    let bytes: Vec<u8> = words[4..]
        .iter()
        .flat_map(|word| word.to_be_bytes())
        .collect();
    let name = std::str::from_utf8(&bytes[..words[3] as usize])?;
    Ok(Thread {
        kind: words[2],
        name: name.to_owned(),
        nodes: Vec::new(),
    })
}

fn node(words: &[i64], methods: &[String]) -> Node {
    let method = match usize::try_from(words[2]) {
        Ok(id) => methods[id].clone(),
        Err(_) => "(overflow)".to_owned(),
    };
    Node {
        parent: usize::try_from(words[1]).ok(),
        method,
        calls: words[3],
        timed: words[4],
        all: words[5],
        outermost: words[6],
        child: words[7],
        variance: f64::from_bits(words[8] as u64),
    }
}
