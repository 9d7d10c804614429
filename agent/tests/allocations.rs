//! Tests allocations that are counted at their sites: number and bytes must equal the program's own
//! counts.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use loadhook_profile::{Allocations, Profile};
use tempfile::TempDir;

mod support;
use support::{Finished, Program};

on_each_jdk!(layouts contexts retransformed full_at_the_end full vanishing loaders same_names initialising beyond);
on_jdks!(compact_headers: on_25 25);
on_jdks!(wide_class_pointers: on_17 17);
on_jdks!(reflected: on_11 11, on_17 17, on_21 21);

/// Objects and bytes by site. The key is `Class.method:line < caller < …`, a tab, and the type.
type Book = BTreeMap<String, (u64, u64)>;

/// The program. It is also a Java agent, so that it can ask for the sizes of its objects.
struct Booked {
    feature: u32,
    jar: PathBuf,
}

impl Booked {
    fn new(feature: u32) -> Result<Self> {
        Ok(Booked {
            feature,
            jar: support::java_agent("Allocations")?,
        })
    }

    fn run(&self, options: &str, jvm: &[&str]) -> Result<Finished> {
        self.run_with(options, jvm, &[])
    }

    fn run_with(&self, options: &str, jvm: &[&str], args: &[&str]) -> Result<Finished> {
        let java_agent = format!("-javaagent:{}", self.jar.display());
        let program = Program::new(self.feature, "Allocations")
            .options(&format!("include=Allocations$Work*,alloc=exact,{options}"))
            .jvm(&["-Xmx64m", "-Xcheck:jni", &java_agent])
            .jvm(jvm)
            .args(args);
        // These sites are reached only on JDKs with virtual threads.
        if self.feature >= 21 {
            program.args(&["virtual"]).run()
        } else {
            program.run()
        }
    }
}

/// Returns the counts that the program printed.
fn printed(run: &Finished, with_callers: bool) -> Result<Book> {
    let mut book = Book::new();
    for line in String::from_utf8_lossy(&run.output.stdout).lines() {
        let Some(line) = line.strip_prefix("MADE\t") else {
            continue;
        };
        let [path, made, objects, bytes] = line.split('\t').collect::<Vec<_>>()[..] else {
            anyhow::bail!("{line}");
        };
        let path = match path.split_once(" < ") {
            Some((site, _)) if !with_callers => site,
            _ => path,
        };
        let sum = book.entry(format!("{path}\t{made}")).or_default();
        sum.0 += objects.parse::<u64>()?;
        sum.1 += bytes.parse::<u64>()?;
    }
    ensure!(book.len() >= 30, "{}: {:?}", run.name, run.output);
    Ok(book)
}

fn allocations(profile: &Profile) -> Result<&Allocations> {
    profile
        .allocations
        .as_ref()
        .context("the profile has no allocations")
}

/// Returns the counts of the profile.
fn counted(profile: &Profile) -> Result<Book> {
    let allocations = allocations(profile)?;
    let mut book = Book::new();
    for site in &allocations.sites {
        let frame = site.frame.map(|at| &allocations.frames[at as usize]);
        // The JVM itself made the object; no instruction allocated it.
        if frame.is_some_and(|frame| frame.bci.is_none()) {
            continue;
        }
        let path = std::iter::successors(site.frame, |at| allocations.frames[*at as usize].parent);
        let path = path.map(|at| {
            let frame = &allocations.frames[at as usize];
            let method = &profile.methods[frame.method as usize];
            let line = frame.line.map(|line| format!(":{line}"));
            format!(
                "{}.{}{}",
                method.class,
                method.name,
                line.unwrap_or_default()
            )
        });
        let path: Vec<String> = path.collect();
        let place = format!("{}\t{}", path.join(" < "), site.type_name);
        let bytes = site.allocated.bytes.with_context(|| place.clone())?;
        let sum = book.entry(place).or_default();
        sum.0 += site.allocated.objects as u64;
        sum.1 += bytes as u64;
    }
    Ok(book)
}

fn agrees(run: &Finished, with_callers: bool) -> Result<()> {
    let (wanted, found) = (printed(run, with_callers)?, counted(&run.profile)?);
    let mut wrong = Vec::new();
    for place in wanted.keys().chain(found.keys()) {
        let (wanted, found) = (wanted.get(place), found.get(place));
        if wanted != found {
            wrong.push(format!("{place}: {wanted:?} expected, {found:?} found"));
        }
    }
    wrong.dedup();
    ensure!(wrong.is_empty(), "{}:\n{}", run.name, wrong.join("\n"));
    let lost = |note: &String| note.contains("missing");
    ensure!(!run.profile.header.notes.iter().any(lost), "{}", run.name);
    Ok(())
}

/// Counts without callers: the profile has only sites, and no methods in the call tree.
fn by_site(feature: u32, jvm: &[&str]) -> Result<()> {
    let run = Booked::new(feature)?.run("", jvm)?;
    agrees(&run, false)?;
    ensure!(
        run.profile.calls() == 0,
        "{}: the profile has calls, but no method is instrumented for calls",
        run.name
    );
    let ended = |name: &str| {
        let threads = run.profile.threads.iter();
        threads.filter(|thread| *thread.name == *name).count()
    };
    ensure!(
        ended("worker-#") == 1,
        "{}: one group of ended threads named worker-# expected",
        run.name
    );
    Ok(())
}

fn layouts(feature: u32) -> Result<()> {
    for jvm in [
        &[] as &[&str],
        &["-XX:-UseCompressedOops"],
        &["-XX:ObjectAlignmentInBytes=16", "-Xint"],
    ] {
        by_site(feature, jvm)?;
    }
    Ok(())
}

fn compact_headers(feature: u32) -> Result<()> {
    by_site(feature, &["-XX:+UseCompactObjectHeaders"])
}

fn wide_class_pointers(feature: u32) -> Result<()> {
    by_site(
        feature,
        &["-XX:-UseCompressedClassPointers", "-XX:-UseCompressedOops"],
    )
}

/// Counts with callers, under every timing. Sites in methods that are not timed also have their
/// callers.
fn contexts(feature: u32) -> Result<()> {
    let program = Booked::new(feature)?;
    for options in [
        "timing=adaptive",
        "timing=exact,all=false",
        "alloc-context=true",
    ] {
        let run = program.run(options, &[])?;
        agrees(&run, true)?;
        let timed = run.profile.threads.iter().flat_map(|thread| &thread.nodes);
        let timed: u64 = timed.map(|node| node.timed).sum();
        ensure!(
            (timed > 0) == options.contains("timing"),
            "{}: {timed}",
            run.name
        );
        ensure!(
            run.profile.calls() > 0,
            "{}: the profile has no calls",
            run.name
        );
    }
    Ok(())
}

/// A class that is retransformed keeps its allocation sites.
fn retransformed(feature: u32) -> Result<()> {
    let program = Booked::new(feature)?;
    for (options, with_callers) in [("", false), ("alloc-context=true", true)] {
        let run = program.run_with(options, &[], &["retransformed"])?;
        agrees(&run, with_callers)?;
    }
    Ok(())
}

/// A program that ends with a full heap ends in the same way with and without the agent, under each
/// collector. ZGC is a special case from JDK 17 on: its threads end before the agent acts, so
/// waiting for a collection would last for ever.
fn full_at_the_end(feature: u32) -> Result<()> {
    let collectors: &[&str] = match feature {
        11 => &["-XX:+UseSerialGC", "-XX:+UseG1GC"],
        _ => &["-XX:+UseSerialGC", "-XX:+UseG1GC", "-XX:+UseZGC"],
    };
    let folder = TempDir::new()?;
    let file = folder.path().join("profile.pb.gz");
    for collector in collectors {
        for options in ["timing=count", "alloc=exact", "alloc=live"] {
            let program = Program::new(feature, "Halted")
                .options(options)
                .jvm(&["-Xmx64m", collector]);
            let output = support::finish(&mut program.command(&file)?)?;
            let stderr = String::from_utf8_lossy(&output.stderr);
            ensure!(
                output.status.code() == Some(3),
                "JDK {feature}, {collector}, {options}: {output:?}"
            );
            // With `alloc=live` there must be a profile. With the other options, the full heap may
            // have no room for the snapshot; then a message says so.
            ensure!(
                file.is_file()
                    || options != "alloc=live"
                        && stderr
                            == "loadhook: no profile: the heap is full; give the JVM more heap (-Xmx)\n",
                "JDK {feature}, {collector}, {options}: {stderr}"
            );
            let _ = std::fs::remove_file(&file);
        }
    }
    Ok(())
}

/// Notes in the profile say how many allocations are missing because the tables were full.
fn full(feature: u32) -> Result<()> {
    let program = Booked::new(feature)?;
    for options in ["max-nodes=20", "max-nodes=30,timing=count"] {
        let run = program.run(options, &[])?;
        let sum = |book: Book| book.values().map(|(objects, _)| *objects).sum::<u64>();
        let (made, found) = (sum(printed(&run, false)?), sum(counted(&run.profile)?));
        let notes = &run.profile.header.notes;
        let lost = notes
            .iter()
            .find_map(|note| note.split_once(" allocations are missing"))
            .with_context(|| format!("{}: {notes:?}", run.name))?;
        let lost: u64 = lost.0.parse()?;
        ensure!(found > 0 && lost > 0, "{}: {found} {lost}", run.name);
        ensure!(
            found + lost == made,
            "{}: {made} objects expected, {found} counted and {lost} lost",
            run.name
        );
    }
    Ok(())
}

/// The type of a site is the class that the site's own loader finds. If that loader was collected,
/// the sizes of its classes are unknown; the sizes of the JDK's classes are still known.
fn loaders(feature: u32) -> Result<()> {
    let run = Program::new(feature, "AllocatingLoaders")
        .options("include=AllocatingLoaders$Plugin,alloc=exact")
        .jvm(&["-Xcheck:jni"])
        .run()?;
    run.printed("", 0)?;
    let allocations = allocations(&run.profile)?;
    let mut found = Vec::new();
    for site in &allocations.sites {
        let frame = allocations.frames[site.frame.context("the site has no frame")? as usize];
        // Leave out the objects that the JVM makes when it loads a class.
        if frame.bci.is_none() {
            continue;
        }
        let method = frame.method;
        let loader = run.profile.methods[method as usize].loader.clone();
        let (objects, bytes) = (site.allocated.objects, site.allocated.bytes);
        found.push(format!("{loader} {} {objects} {bytes:?}", site.type_name));
    }
    found.sort();
    let expected = [
        "gone AllocatingLoaders$Part 100 None",
        "gone java.lang.Object 100 Some(1600.0)",
        "kept AllocatingLoaders$Part 100 Some(4000.0)",
        "kept java.lang.Object 100 Some(1600.0)",
    ];
    ensure!(found == expected, "{}: {found:?}", run.name);
    Ok(())
}

/// Two loaders have the same name, and only the second allocates. The profile shows no allocation
/// for the first loader, and no method under the names of both.
fn same_names(feature: u32) -> Result<()> {
    const OF_SECOND: &str = "plugins#2";
    for options in [
        "alloc=exact",
        "alloc=exact,timing=count",
        "alloc=live=exact,timing=count",
    ] {
        let run = Program::new(feature, "SameNames")
            .options(&format!("include=SameNames$Plugin,{options}"))
            .jvm(&["-Xint"])
            .run()?;
        run.printed("1000\n", 0)?;
        let methods = &run.profile.methods;
        let allocations = allocations(&run.profile)?;
        let mut made: BTreeMap<_, f64> = BTreeMap::new();
        for site in &allocations.sites {
            let path =
                std::iter::successors(site.frame, |at| allocations.frames[*at as usize].parent);
            let mut path = path.map(|at| &methods[allocations.frames[at as usize].method as usize]);
            // Leave out the objects that are made when the classes are loaded.
            if site.type_name.starts_with("SameNames$Made")
                && let Some(method) = path.find(|method| &*method.class == "SameNames$Plugin")
            {
                *made.entry((&*method.loader, &*site.type_name)).or_default() +=
                    site.allocated.objects;
            }
        }
        let expected = [
            ((OF_SECOND, "SameNames$Made"), 1000.0),
            ((OF_SECOND, "SameNames$Made[]"), 1000.0),
        ];
        ensure!(made == BTreeMap::from(expected), "{}: {made:?}", run.name);

        let is_apply = |at: u32| {
            let method = &methods[at as usize];
            // Leave out the bridge method.
            (&*method.name == "apply" && method.descriptor.starts_with("(["))
                .then_some(&*method.loader)
        };
        let mut calls: BTreeMap<_, u64> = BTreeMap::new();
        for node in run.profile.threads.iter().flat_map(|thread| &thread.nodes) {
            if let Some(loader) = is_apply(node.method) {
                *calls.entry(loader).or_default() += node.calls;
            }
        }
        let (expected, loaders) = if options.contains("timing") {
            let calls = BTreeMap::from([("plugins", 1), (OF_SECOND, 2)]);
            (calls, vec!["plugins", OF_SECOND])
        } else {
            (BTreeMap::new(), vec![OF_SECOND])
        };
        ensure!(calls == expected, "{}: {calls:?}", run.name);
        let mut found: Vec<_> = (0..methods.len() as u32).filter_map(is_apply).collect();
        found.sort_unstable();
        ensure!(found == loaders, "{}: {found:?}", run.name);
    }
    Ok(())
}

/// Reflection generates code, in a loader that defines only that code. Allocations in that code are
/// counted, too.
fn reflected(feature: u32) -> Result<()> {
    let run = Program::new(feature, "Reflected")
        .options("include=jdk.internal.reflect.Generated*,alloc=exact")
        .jvm(&["-Xcheck:jni", "-Djdk.reflect.useDirectMethodHandle=false"])
        .run()?;
    run.printed("1000 made\n", 0)?;
    let allocations = allocations(&run.profile)?;
    let made = |site: &&loadhook_profile::Site| &*site.type_name == "Reflected$Made";
    let site = allocations
        .sites
        .iter()
        .find(made)
        .context("the profile has no such objects")?;
    let frame = allocations.frames[site.frame.context("the site has no frame")? as usize];
    let class = &*run.profile.methods[frame.method as usize].class;
    let amount = (site.allocated.objects, site.allocated.bytes);
    // Reflection makes the first calls in native code, before it generates code.
    ensure!(
        class == "jdk.internal.reflect.GeneratedConstructorAccessor1"
            && 900.0 < amount.0
            && amount.1 == Some(24.0 * amount.0),
        "{}: {class} {amount:?}",
        run.name
    );
    Ok(())
}

/// The agent must not instantiate a class whose initialiser is running: it would wait for ever.
fn initialising(feature: u32) -> Result<()> {
    let run = Program::new(feature, "Initialising")
        .options("include=Initialising$Server,alloc=exact")
        .run()?;
    let mut sites = allocations(&run.profile)?.sites.iter();
    let server = sites.find(|site| &*site.type_name == "Initialising$Server");
    let allocated = server.map(|site| (site.allocated.objects, site.allocated.bytes));
    ensure!(
        allocated == Some((1.0, None)),
        "{}: {allocated:?}",
        run.name
    );
    Ok(())
}

/// The compiler removes the allocations of a method. They must also be removed when the method has
/// probes; otherwise it would allocate 32 MB and more.
fn vanishing(feature: u32) -> Result<()> {
    let run = Program::new(feature, "Vanishing")
        .options("include=Vanishing,alloc=exact")
        .jvm(&["-Xbatch"])
        .run()?;
    let bytes = String::from_utf8_lossy(&run.output.stdout);
    let bytes: u64 = bytes.trim().parse().with_context(|| run.name.clone())?;
    ensure!(
        bytes < 1 << 20,
        "{}: less than 1 MiB allocated expected, {bytes} bytes found",
        run.name
    );
    let found = counted(&run.profile)?;
    let objects = |made: &str| {
        let places = found.iter().filter(|(place, _)| place.ends_with(made));
        places.map(|(_, (objects, _))| *objects).sum::<u64>()
    };
    for made in ["Vanishing$Pair", "int[]"] {
        let objects = objects(&format!("\t{made}"));
        ensure!(objects == 3_000_000, "{}: {objects} {made}", run.name);
    }
    Ok(())
}

/// If the instrumented caller of an allocation may be beyond the recorded frames, the object is
/// counted under `(deeper)`.
fn beyond(feature: u32) -> Result<()> {
    for (options, places) in [
        ("", ["(deeper)", "all", "all"]),
        (
            "alloc-context=true",
            ["(deeper)", "all", "all < within < (deeper)"],
        ),
    ] {
        let run = Program::new(feature, "Beyond")
            .options(&format!("include=Beyond$Chosen,alloc=exact,{options}"))
            .jvm(&["-Xint"])
            .run()?;
        run.printed("9000\n", 0)?;
        let allocations = allocations(&run.profile)?;
        let mut found = BTreeMap::new();
        for site in &allocations.sites {
            if &*site.type_name != "long[]" {
                continue;
            }
            let path =
                std::iter::successors(site.frame, |at| allocations.frames[*at as usize].parent);
            let path = path.map(|at| {
                let method = &run.profile.methods[allocations.frames[at as usize].method as usize];
                match &*method.name {
                    "" => method.class.to_string(),
                    name => name.to_owned(),
                }
            });
            let path: Vec<String> = path.collect();
            *found.entry(path.join(" < ")).or_default() += site.allocated.objects as u64;
        }
        let mut wanted = BTreeMap::<String, u64>::new();
        for place in places {
            *wanted.entry(place.to_owned()).or_default() += 3000;
        }
        ensure!(found == wanted, "{}: {found:?}", run.name);
        let notes = &run.profile.header.notes;
        let told = |note: &String| note.contains("deeper than 128 frames");
        ensure!(notes.iter().any(told), "{}: {notes:?}", run.name);
    }
    Ok(())
}
