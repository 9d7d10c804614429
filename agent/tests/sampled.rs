//! Sampled allocations: the estimates are compared with the programs' own counts.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use loadhook_profile::{Amount, Frame, Profile, Site, ThreadKind};
use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::process;

mod support;
use support::marks::{allocations, by_mark, marks, run_kept};
use support::{Finished, Program};

fn run(feature: u32, options: &str, jvm: &[&str], args: &[&str]) -> Result<Finished> {
    Program::new(feature, "Sampled")
        .options(options)
        .jvm(jvm)
        .args(args)
        .run()
}

/// Returns the differences between the estimates and the numbers that the program prints, in
/// standard errors. Estimates for `big` are exact: its arrays are as long as 64 intervals, and the
/// distance between two samples is never longer than 19 intervals.
fn errors(run: &Finished, amount: fn(&Site) -> Amount) -> Result<Vec<(String, f64)>> {
    let found = by_mark(&run.profile, "Sampled", amount)?;
    let printed = String::from_utf8_lossy(&run.output.stdout);
    let mut errors = Vec::new();
    for line in printed.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [mark, type_name, objects, bytes] = words[..] else {
            continue;
        };
        let key = (mark.to_owned(), type_name.to_owned());
        let estimate = found
            .get(&key)
            .with_context(|| format!("{}: no {key:?} in {:?}", run.name, found.keys()))?;
        for (what, known, found, variance) in [
            (
                "objects",
                objects,
                estimate.objects,
                estimate.objects_variance,
            ),
            (
                "bytes",
                bytes,
                estimate.bytes.unwrap_or(0.0),
                estimate.bytes_variance,
            ),
        ] {
            let known: f64 = known.parse()?;
            let name = format!("{}: {mark} {type_name} {what} {known} {found:.0}", run.name);
            match mark {
                "big" => ensure!((found - known).abs() < 1e-6 * known, "{name}"),
                _ => errors.push((name, (found - known) / variance.sqrt())),
            }
        }
    }
    ensure!(!errors.is_empty(), "{}: {:?}", run.name, run.output);
    Ok(errors)
}

on_each_jdk!(estimates threads early live growth unloading out_of_memory other_agents large);
on_jdks!(generations: on_17 17, on_25 25);

/// Returns JVM options for each collector, with the sizes of array headers and references under
/// these options.
fn collectors(feature: u32) -> Vec<(Vec<&'static str>, [&'static str; 2])> {
    let zgc = match feature {
        // ZGC is experimental before JDK 15, and does not support compressed class pointers there.
        11 => (
            vec!["-XX:+UnlockExperimentalVMOptions", "-XX:+UseZGC"],
            ["24", "8"],
        ),
        _ => (vec!["-XX:+UseZGC"], ["16", "8"]),
    };
    let others = ["-XX:+UseG1GC", "-XX:+UseParallelGC", "-XX:+UseSerialGC"];
    let others = others.map(|collector| (vec![collector], ["16", "4"]));
    others.into_iter().chain([zgc]).collect()
}

/// The estimates of all sites are right. By chance, in one run of six a site is out of bounds, and
/// in one run of a thousand three sites are. The JVM draws new random numbers in each run, so two
/// such runs in a row happen once in a million.
fn estimates(feature: u32) -> Result<()> {
    let Some(first) = unlikely(feature)? else {
        return Ok(());
    };
    let again = unlikely(feature)?;
    ensure!(
        again.is_none(),
        "estimates are improbable in two runs: {first}\nand again: {again:?}"
    );
    Ok(())
}

/// Returns a message if more than four estimates (of objects or of bytes) are wrong by more than three standard errors,
/// or if all together are too high or too low.
fn unlikely(feature: u32) -> Result<Option<String>> {
    let mut all = Vec::new();
    for (collector, [header, reference]) in collectors(feature) {
        let jvm = [&collector[..], &["-Xmx512m", "-Xcheck:jni"]].concat();
        let args = ["10", header, reference];
        let run = run(feature, "alloc=sampled=16k", &jvm, &args)?;
        ensure!(
            run.output.status.success(),
            "{}: {:?}",
            run.name,
            run.output
        );
        let stderr = String::from_utf8_lossy(&run.output.stderr);
        ensure!(stderr.is_empty(), "{}: {stderr}", run.name);
        all.extend(errors(&run, |site| site.allocated)?);
    }
    let wrong: Vec<_> = all.iter().filter(|(_, error)| error.abs() > 3.0).collect();
    // The errors of a site's objects and bytes are correlated, so only one of them is summed.
    let sum: f64 = all.iter().map(|(_, error)| error).sum();
    let mean = sum / (2.0 * all.len() as f64).sqrt();
    println!(
        "JDK {feature}: {} estimates, {} beyond 3, {mean:.2} in all",
        all.len(),
        wrong.len()
    );
    if wrong.len() > 4 {
        return Ok(Some(format!("{wrong:#?} of {}", all.len())));
    }
    Ok((mean.abs() >= 4.0).then(|| format!("{mean}: {all:#?}")))
}

/// Returns the threads that allocate at a mark: name, kind, and true if the thread has no call tree.
fn threads_at(profile: &Profile, mark: &str) -> Result<Vec<(String, ThreadKind, bool)>> {
    let allocations = allocations(profile)?;
    let line = marks("Sampled")?.into_iter().find(|(_, m)| m == mark);
    let line = line.context("the line has no mark")?.0;
    let mut threads = Vec::new();
    for site in &allocations.sites {
        let frame = site.frame.map(|at| &allocations.frames[at as usize]);
        let is_there = |frame: &Frame| {
            let file = &profile.methods[frame.method as usize].file;
            frame.line == Some(line) && file.as_deref() == Some("Sampled.java")
        };
        if frame.is_some_and(is_there) {
            let thread = &profile.threads[site.thread as usize];
            threads.push((
                thread.name.to_string(),
                thread.kind,
                thread.nodes.is_empty(),
            ));
        }
    }
    threads.sort_by(|a: &(String, ThreadKind, bool), b| a.0.cmp(&b.0));
    threads.dedup();
    Ok(threads)
}

/// A platform thread that is alive has sites of its own; ended threads and virtual threads share
/// sites. Callers are recorded up to a limit.
fn threads(feature: u32) -> Result<()> {
    let run = run(
        feature,
        "alloc=sampled=16k,timing=count",
        &[],
        &["4", "16", "4"],
    )?;
    let profile = &run.profile;
    let allocations = allocations(profile)?;
    let names = |mark: &str| threads_at(profile, mark);
    let ended = |name: &str| vec![(name.to_owned(), ThreadKind::Ended, false)];
    ensure!(names("thread")? == ended("live-#"), "{:?}", names("thread"));
    ensure!(
        names("short")? == ended("pool-#-thread-#"),
        "{:?}",
        names("short")
    );
    let main = vec![("main".to_owned(), ThreadKind::Platform, false)];
    // The profile at the end also has threads other than main.
    let found = names("longs")?;
    ensure!(found == main || found == ended("main"), "{found:?}");
    if feature >= 21 {
        let found = names("virtual")?;
        ensure!(
            found.len() == 1 && found[0].0 == "(virtual threads)",
            "{found:?}"
        );
    }
    let path = |site: &Site| -> Vec<String> {
        let frame = |at: u32| allocations.frames[at as usize];
        let path = std::iter::successors(site.frame.map(frame), |f| f.parent.map(frame));
        let methods = path.map(|frame| &profile.methods[frame.method as usize]);
        methods
            .map(|method| format!("{}.{}", method.class, method.name))
            .collect()
    };
    let paths: Vec<_> = allocations.sites.iter().map(path).collect();
    let longs = ["Sampled.longs", "Sampled.main"];
    ensure!(paths.iter().any(|path| *path == longs), "{paths:?}");
    let deep = paths
        .iter()
        .find(|path| path.len() == 129 && path[127] == "Sampled.deep");
    ensure!(
        deep.is_some_and(|path| path[128] == "(deeper)."),
        "{deep:?}"
    );
    let notes = &profile.header.notes;
    ensure!(
        notes
            .iter()
            .any(|note| note.contains("deeper than 128 frames")),
        "{notes:?}"
    );
    for site in &allocations.sites {
        ensure!(
            site.allocated.objects >= 1.0 && site.live.objects == 0.0,
            "{site:?}"
        );
    }
    Ok(())
}

/// The live objects in the profile are those that the program keeps, and none that it drops.
fn live(feature: u32) -> Result<()> {
    for (collector, _) in collectors(feature) {
        let jvm = [&collector[..], &["-Xmx600m", "-Xcheck:jni"]].concat();
        let run = Program::new(feature, "Kept")
            .options("alloc=live")
            .jvm(&jvm)
            .run()?;
        run.printed("kept 8000\n", 0)?;
        let live = by_mark(&run.profile, "Kept", |site| site.live)?;
        let all = by_mark(&run.profile, "Kept", |site| site.allocated)?;
        let key = |mark: &str| (mark.to_owned(), "byte[]".to_owned());
        let known = 8000.0 * 10_016.0;
        for (mark, found, known) in [
            ("kept", live.get(&key("kept")), known),
            ("kept", all.get(&key("kept")), known),
            ("dropped", all.get(&key("dropped")), 5.0 * known),
        ] {
            let found = found.with_context(|| format!("{}: {mark}: {live:?} {all:?}", run.name))?;
            let error = (found.bytes.unwrap_or(0.0) - known) / found.bytes_variance.sqrt();
            println!(
                "{}: {mark} {:.0} of {known:.0}: {error:.2}",
                run.name,
                found.bytes.unwrap_or(0.0)
            );
            ensure!(error.abs() < 5.0, "{}: {mark}: {error} {found:?}", run.name);
        }
        let dropped = live.get(&key("dropped")).context("no dropped objects")?;
        ensure!(dropped.objects == 0.0, "{}: {dropped:?}", run.name);
        let allocations = allocations(&run.profile)?;
        ensure!(allocations.live, "{}", run.name);
        let notes = &run.profile.header.notes;
        let told = |note: &String| note.contains("at the last collection");
        let in_threads = collector.contains(&"-XX:+UseZGC");
        ensure!(
            notes.iter().any(told) == in_threads,
            "{}: {notes:?}",
            run.name
        );
        let old = allocations
            .sites
            .iter()
            .filter(|site| site.live.objects > 20.0);
        let ages: Vec<f64> = old.map(|site| site.live_age).collect();
        // The program asks for five collections, so kept objects are at least five collections old.
        ensure!(ages.iter().any(|age| *age >= 5.0), "{}: {ages:?}", run.name);
    }
    Ok(())
}

/// The main thread gets an allocation buffer before the agent begins to sample. In a large heap
/// this buffer has megabytes.
fn early(feature: u32) -> Result<()> {
    for (collector, _) in collectors(feature) {
        let jvm = [&collector[..], &["-Xms1g", "-Xmx1g"]].concat();
        let run = Program::new(feature, "Early")
            .options("alloc=sampled=1k")
            .jvm(&jvm)
            .run()?;
        run.printed("early\n", 0)?;
        let found = by_mark(&run.profile, "Early", |site| site.allocated)?;
        let found = found.get(&("early".to_owned(), "byte[]".to_owned()));
        let found =
            found.with_context(|| format!("{}: no sampled array at the mark `early`", run.name))?;
        let error = (found.objects - 50_000.0) / found.objects_variance.sqrt();
        println!("{}: {:.0}: {error:.2}", run.name, found.objects);
        ensure!(error.abs() < 5.0, "{}: {found:?}", run.name);
    }
    Ok(())
}

/// A young collection of a generational collector does not clear the tags of dead objects in the
/// old generation. Such objects must not be shown as alive or growing.
fn generations(feature: u32) -> Result<()> {
    for (end, code) in [("return", 0), ("exit", 7)] {
        for options in ["alloc=live", "alloc=live,snapshot-every=300ms"] {
            let run = Program::new(feature, "Churned")
                .options(options)
                .jvm(&["-XX:+UseZGC", "-Xmx400m"])
                .args(&[end])
                .run()?;
            run.printed("kept 4000\n", code)?;
            let live = by_mark(&run.profile, "Churned", |site| site.live)?;
            let bytes = |mark: &str, name: &str| {
                let found = live.get(&(mark.to_owned(), name.to_owned()));
                found.and_then(|found| found.bytes).unwrap_or(0.0)
            };
            // The program drops 3 GB in all. At the time of one collection, only a small part of this can exist.
            let dropped = bytes("dropped", "int[]");
            ensure!(
                dropped < 1e8,
                "{}: less than 100 MB of dropped objects expected alive, {dropped} bytes found",
                run.name
            );
            // 40 MB give 80 samples.
            let kept = bytes("kept", "byte[]") + bytes("late", "byte[]");
            ensure!(
                (2e7..6.5e7).contains(&kept),
                "{}: 20 to 65 MB of kept objects expected alive, {kept} bytes found",
                run.name
            );
            let notes = &run.profile.header.notes;
            let growing = notes.iter().find(|note| note.contains("int[]"));
            ensure!(growing.is_none(), "{}: {growing:?}", run.name);
        }
    }
    Ok(())
}

/// A note names the sites that have more live objects at the end than at the first snapshot.
fn growth(feature: u32) -> Result<()> {
    let (notes, place) = run_kept(feature, "live")?;
    let growing = notes.iter().find(|note| note.contains(&place));
    let growing = growing.with_context(|| format!("{place}: {notes:?}"))?;
    ensure!(growing.starts_with("growing: "), "{growing}");
    Ok(())
}

/// Classes are loaded, allocate and are unloaded.
fn unloading(feature: u32) -> Result<()> {
    for options in ["alloc=sampled=1k", "alloc=sampled=1k,timing=count"] {
        let run = Program::new(feature, "Unloaded")
            .options(options)
            .jvm(&["-Xmx64m", "-Xcheck:jni", "-XX:+UseSerialGC"])
            .run()?;
        run.printed("unloaded\n", 0)?;
        let found = by_mark(&run.profile, "Unloaded", |site| site.allocated)?;
        let found = &found[&("leaving".to_owned(), "byte[]".to_owned())];
        let error = (found.objects - 200_000.0) / found.objects_variance.sqrt();
        ensure!(error.abs() < 5.0, "{}: {found:?}", run.name);
        let methods = run.profile.methods.iter();
        let loaders: Vec<u32> = methods
            .filter(|method| &*method.class == "Unloaded$Leaving" && &*method.name == "run")
            .map(|method| method.loaders)
            .collect();
        ensure!(loaders == [100], "{}: {loaders:?}", run.name);
    }
    Ok(())
}

/// Before JDK 25, an object too large for a thread's allocation buffer makes the JVM lose count. A
/// note says so and names the remedy.
fn large(feature: u32) -> Result<()> {
    for (buffers, is_right) in [("-XX:+UseTLAB", feature >= 25), ("-XX:-UseTLAB", true)] {
        let run = Program::new(feature, "Large")
            .options("alloc=sampled=16k")
            .jvm(&["-Xmx512m", "-XX:+UseG1GC", buffers])
            .run()?;
        run.printed("", 0)?;
        let notes = &run.profile.header.notes;
        let is_told = notes.iter().any(|note| note.contains("-XX:-UseTLAB"));
        ensure!(is_told == (feature < 25), "{}: {notes:?}", run.name);
        let found = by_mark(&run.profile, "Large", |site| site.allocated)?;
        let found = &found[&("small".to_owned(), "Large$Small".to_owned())];
        let error = (found.objects - 1e6) / found.objects_variance.sqrt();
        ensure!(!is_right || error.abs() < 5.0, "{}: {found:?}", run.name);
    }
    Ok(())
}

/// After an OutOfMemoryError, the program continues and the profile is written.
fn out_of_memory(feature: u32) -> Result<()> {
    for options in ["alloc=sampled=1k", "alloc=live", "alloc=live=exact"] {
        let run = Program::new(feature, "Filled")
            .options(options)
            .jvm(&["-Xmx32m", "-XX:+UseSerialGC", "-Xcheck:jni"])
            .run()?;
        run.printed("filled 5\n", 0)?;
        ensure!(!allocations(&run.profile)?.sites.is_empty(), "{}", run.name);
    }
    Ok(())
}

/// Another agent also samples allocations; it is loaded before or after ours. The program runs. The
/// agent that is loaded second reports that it cannot sample, and does everything else.
fn other_agents(feature: u32) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (source, library) = (
        folder.path().join("other.c"),
        folder.path().join("libother.so"),
    );
    fs::write(
        &source,
        "#include <jvmti.h>\n#include <stdio.h>\n#include <string.h>\n\
         JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved) {\n\
         jvmtiEnv *jvmti; jvmtiCapabilities c; memset(&c, 0, sizeof c);\n\
         c.can_generate_sampled_object_alloc_events = 1;\n\
         if ((*vm)->GetEnv(vm, (void **) &jvmti, JVMTI_VERSION_11)) return 1;\n\
         fprintf(stderr, \"other: %d\\n\", (*jvmti)->AddCapabilities(jvmti, &c)); return 0; }\n",
    )?;
    let include = Jdk::find(17)?.home.join("include");
    let mut cc = Command::new("cc");
    cc.arg("-shared").arg("-fPIC").arg("-I").arg(&include);
    cc.arg("-I")
        .arg(include.join("linux"))
        .arg("-o")
        .arg(&library)
        .arg(&source);
    process::output(&mut cc).context("a C compiler is needed, as for linking Rust")?;
    let other = format!("-agentpath:{}", library.display());
    let file = folder.path().join("profile.pb.gz");
    let run = |first: bool, options: &str| -> Result<(String, bool)> {
        let program = Program::new(feature, "Filled")
            .options(options)
            .args(&["small"]);
        let program = if first {
            program.jvm(&[&other])
        } else {
            program
        };
        let mut java = program.command(&file)?;
        if !first {
            java.env("JAVA_TOOL_OPTIONS", "");
            java = after(&java, &other);
        }
        let output = support::finish(&mut java)?;
        let stdout = String::from_utf8_lossy(&output.stdout);
        ensure!(
            stdout == "filled 5\n" && output.status.success(),
            "{output:?}"
        );
        let profiled = file.is_file();
        Ok((
            String::from_utf8_lossy(&output.stderr).into_owned(),
            profiled,
        ))
    };
    let refused = "loadhook: allocations are not sampled: another agent already samples them, and a JVM allows only one (JVM TI error 98)";
    let (stderr, profiled) = run(true, "alloc=sampled")?;
    ensure!(
        stderr == format!("other: 0\n{refused}; nothing is instrumented\n") && !profiled,
        "{stderr}"
    );
    let (stderr, profiled) = run(true, "alloc=live,timing=count")?;
    ensure!(
        stderr == format!("other: 0\n{refused}\n") && profiled,
        "{stderr}"
    );
    let profile = support::read(&file)?;
    ensure!(
        profile.calls() > 0 && profile.allocations.is_none(),
        "{profile:?}"
    );
    let (stderr, profiled) = run(false, "alloc=sampled")?;
    ensure!(stderr == "other: 98\n" && profiled, "{stderr}");
    allocations(&support::read(&file)?).map(drop)
}

/// Returns the same command with another option after the agent's option.
fn after(java: &Command, option: &str) -> Command {
    let mut command = Command::new(java.get_program());
    for argument in java.get_args() {
        command.arg(argument);
        if argument.to_string_lossy().starts_with("-agentpath:") {
            command.arg(option);
        }
    }
    command
}
