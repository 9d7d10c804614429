//! Every allocation, all live objects, and objects that the JVM itself makes. Their number, bytes
//! and age must equal the program's own counts.

use anyhow::{Context, Result, ensure};
use loadhook_profile::{Amount, Seen, Site};
use loadhook_text::count;

mod support;
use support::marks::{allocations, by_mark, run_kept};
use support::{Finished, Program};

on_each_jdk!(by_collector by_compiler growth unloading made_by_the_jvm leaving);

const EXACT: &str = "alloc=live=exact";

/// Returns the JVM option with which JDK 11 reports all allocations. Without it, JDK 11 reports no
/// allocations of a thread after an object too large for the thread's allocation buffer, until the
/// thread gets its next buffer.
fn buffers(feature: u32) -> &'static [&'static str] {
    match feature {
        11 => &["-XX:-UseTLAB"],
        _ => &[],
    }
}

fn run(feature: u32, options: &str, count: &str, jvm: &[&str]) -> Result<Finished> {
    let jar = support::java_agent("Everything")?;
    let java_agent = format!("-javaagent:{}", jar.display());
    Program::new(feature, "Everything")
        .options(options)
        .jvm(&["-Xmx300m", "-Xcheck:jni", &java_agent])
        .jvm(buffers(feature))
        .jvm(jvm)
        .args(&[count])
        .run()
}

/// Returns the numbers in the line that the program printed for `key`.
fn printed(run: &Finished, key: &str) -> Result<Vec<u64>> {
    let stdout = String::from_utf8_lossy(&run.output.stdout).into_owned();
    let mut lines = stdout.lines();
    let line = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
    let line = line.with_context(|| format!("{}: {key}: {:?}", run.name, run.output))?;
    Ok(line.split(' ').map(str::parse).collect::<Result<_, _>>()?)
}

fn known(objects: f64, bytes: f64) -> Amount {
    Amount {
        objects,
        bytes: Some(bytes),
        ..Amount::default()
    }
}

/// Checks that the profile has all objects that the program counted.
fn agrees(run: &Finished) -> Result<()> {
    let told = |note: &String| note.starts_with("JDK 11 does not report");
    ensure!(
        run.profile.header.notes.iter().any(told) == run.name.starts_with("JDK 11"),
        "{}: {:?}",
        run.name,
        run.profile.header.notes
    );
    agrees_except_for(run, &[])
}

/// Checks the same as [`agrees`], except for the given marks.
fn agrees_except_for(run: &Finished, unseen: &[&str]) -> Result<()> {
    let found = by_mark(&run.profile, "Everything", |site| site.allocated)?;
    let stdout = String::from_utf8_lossy(&run.output.stdout).into_owned();
    let (mut all, mut wrong) = (0, Vec::new());
    for line in stdout.lines().filter_map(|line| line.strip_prefix("MADE ")) {
        let [mark, type_name, objects, bytes] = line.split(' ').collect::<Vec<_>>()[..] else {
            anyhow::bail!("{line}");
        };
        let (objects, bytes): (f64, f64) = (objects.parse()?, bytes.parse()?);
        all += 1;
        if unseen.contains(&mark) {
            continue;
        }
        let at_least = mark.ends_with('+');
        let key = (mark.trim_end_matches('+').to_owned(), type_name.to_owned());
        let amount = found.get(&key).copied().unwrap_or_default();
        let more = amount.objects > objects && amount.objects < objects + 1000.0;
        if amount != known(objects, bytes) && !(at_least && more) {
            wrong.push(format!("{line}: {amount:?}"));
        }
    }
    ensure!(all >= 22, "{}: {:?}", run.name, run.output);
    ensure!(wrong.is_empty(), "{}:\n{}", run.name, wrong.join("\n"));
    println!(
        "{}: all {all} kinds of objects agree with the program's counts",
        run.name
    );
    Ok(())
}

/// Checks that the live objects in the profile are the objects that the program keeps, and none
/// that it drops.
fn lives(run: &Finished) -> Result<()> {
    let [objects, bytes] = printed(run, "KEPT")?[..] else {
        anyhow::bail!("{:?}", run.output);
    };
    let live = by_mark(&run.profile, "Everything", |site| site.live)?;
    let key = |mark: &str, name: &str| (mark.to_owned(), name.to_owned());
    let known = known(objects as f64, bytes as f64);
    ensure!(
        live.get(&key("kept", "float[]")) == Some(&known),
        "{}: {live:?}",
        run.name
    );
    for (mark, name) in [
        ("object", "Everything$Pair"),
        ("bytes", "byte[]"),
        ("clone", "Everything$Pair"),
        ("native", "java.lang.Class[]"),
        ("thread", "int[]"),
    ] {
        let dropped = live.get(&key(mark, name)).map(|live| live.objects);
        ensure!(dropped == Some(0.0), "{}: {mark}: {dropped:?}", run.name);
    }
    let allocations = allocations(&run.profile)?;
    ensure!(
        allocations.live && allocations.seen == Seen::All,
        "{}: {:?}",
        run.name,
        allocations.seen
    );
    let kept = allocations.sites.iter().filter(|site| {
        let frame = site.frame.map(|at| allocations.frames[at as usize]);
        let method = frame.map(|frame| &run.profile.methods[frame.method as usize]);
        site.live.objects > 0.0
            && &*site.type_name == "float[]"
            && method.is_some_and(|method| &*method.name == "kept")
    });
    let found: Vec<f64> = kept.map(|site| site.live_age).collect();
    ensure!(
        printed(run, "MEANWHILE")? == [0],
        "{}: collections ran that the program did not ask for: the heap is too small for this test",
        run.name
    );
    // The program asks for four collections, and the agent for one at the end.
    ensure!(found == [5.0], "{}: {found:?}", run.name);
    println!("{}: {objects} alive, five collections old", run.name);
    Ok(())
}

fn by_collector(feature: u32) -> Result<()> {
    let collectors: &[&str] = match feature {
        // With the other collectors, compiled code allocates without a report if there are no
        // allocation buffers.
        11 => &["G1GC"],
        _ => &["SerialGC", "ParallelGC", "G1GC"],
    };
    for collector in collectors {
        // The heap is so large that there are no collections except those that the program asks
        // for.
        let collector = format!("-XX:+Use{collector}");
        let run = run(feature, EXACT, "300", &[&collector, "-Xms300m", "-Xmn100m"])?;
        agrees(&run)?;
        lives(&run)?;
    }
    let zgc = ["-XX:+UnlockExperimentalVMOptions", "-XX:+UseZGC"];
    agrees(&run(feature, EXACT, "300", &zgc)?)
}

fn by_compiler(feature: u32) -> Result<()> {
    for options in [
        &["-Xint"] as &[&str],
        &["-XX:TieredStopAtLevel=1"],
        &["-XX:-TieredCompilation", "-Xbatch"],
        &["-XX:-UseTLAB"],
    ] {
        agrees(&run(feature, EXACT, "1000", options)?)?;
    }
    Ok(())
}

/// With `alloc=exact`, objects that the JVM makes are counted beside those of instructions.
fn made_by_the_jvm(feature: u32) -> Result<()> {
    // Marks of objects that instructions of the JDK make. Up to JDK 17, these include lambdas and
    // objects made by reflection.
    let mut unseen = vec!["boxed", "concatenated+"];
    // All arrays that one instruction makes are counted under the instruction's type.
    unseen.extend(["shorts", "deep"]);
    if feature < 21 {
        unseen.extend(["lambda", "reflected"]);
    }
    for (options, callers) in [("", 0), (",alloc-context=true", 1)] {
        let options = format!("include=Everything,alloc=exact{options}");
        let run = run(feature, &options, "200", &["-Xint"])?;
        agrees_except_for(&run, &unseen)?;
        let allocations = allocations(&run.profile)?;
        ensure!(allocations.seen == Seen::Exact, "{}", run.name);
        let mut made = 0.0;
        for site in &allocations.sites {
            let at = site.frame.with_context(|| format!("{site:?}"))?;
            let path =
                std::iter::successors(Some(at), |at| allocations.frames[*at as usize].parent);
            let path: Vec<_> = path.map(|at| &allocations.frames[at as usize]).collect();
            let classes = path
                .iter()
                .map(|frame| &*run.profile.methods[frame.method as usize].class);
            ensure!(
                classes.clone().all(|class| class == "Everything"),
                "{}: {site:?}",
                run.name
            );
            if path[0].bci.is_some() {
                continue;
            }
            made += site.allocated.objects;
            let method = &run.profile.methods[path[0].method as usize];
            if &*method.name == "calls" {
                ensure!(path.len() == 1 + callers, "{}: {path:?}", run.name);
            }
        }
        let note = format!(
            "{} of the objects were made by the JVM itself",
            count(made as u64)
        );
        let notes = &run.profile.header.notes;
        ensure!(
            made > 1000.0 && notes.contains(&note),
            "{}: {note} {notes:?}",
            run.name
        );
    }
    // Compiled code makes some of the objects without a report.
    let run = run(feature, "include=Everything,alloc=exact", "3000", &[])?;
    unseen.extend([
        "clone",
        "chars",
        "copy",
        "array",
        "arrays",
        "native",
        "lambda",
        "reflected",
    ]);
    agrees_except_for(&run, &unseen)
}

/// Classes are loaded, allocate and are unloaded. Their allocations stay in the profile.
fn unloading(feature: u32) -> Result<()> {
    let run = Program::new(feature, "Unloaded")
        .options(EXACT)
        .jvm(&["-Xmx64m", "-Xcheck:jni", "-XX:+UseG1GC"])
        .jvm(buffers(feature))
        .run()?;
    run.printed("unloaded\n", 0)?;
    // If C2 compiles the library method that is called there, more strings are counted for that
    // method.
    let allocations = allocations(&run.profile)?;
    let is_made = |site: &&Site| {
        let frame = site.frame.map(|at| allocations.frames[at as usize]);
        let method = frame.map(|frame| &run.profile.methods[frame.method as usize]);
        &*site.type_name == "byte[]"
            && method.is_some_and(|it| &*it.class == "Unloaded$Leaving" && &*it.name == "run")
    };
    let sites = || allocations.sites.iter().filter(is_made);
    let made: f64 = sites().map(|site| site.allocated.objects).sum();
    // For each loader there is one more array, in the string by which the JVM asks the loader for
    // the class that declares the field.
    ensure!(made == 200_100.0, "{}: {made:?}", run.name);
    let left: f64 = sites().map(|site| site.live.objects).sum();
    ensure!(
        left <= 1.0,
        "{}: at most one live object expected, {left:?} found",
        run.name
    );
    Ok(())
}

/// A note names the sites that have more live objects at the end than at the first snapshot,
/// without an error of estimation.
fn growth(feature: u32) -> Result<()> {
    let (notes, place) = run_kept(feature, "live=exact")?;
    let growing = format!("growing: 47.8 MB more {place} alive than at the first snapshot");
    ensure!(notes.contains(&growing), "{growing}: {notes:?}");
    Ok(())
}

/// The program ends while threads allocate and collections run. The threads, the collector and the
/// agent must not wait for each other.
fn leaving(feature: u32) -> Result<()> {
    for jvm in [&["-Xmx32m"][..], &["-Xmx32m", "-XX:+UseSerialGC"]] {
        for _ in 0..3 {
            let run = Program::new(feature, "Leaving")
                .options("alloc=live=exact,snapshot-every=100ms")
                .jvm(jvm)
                .run()?;
            run.printed("", 7)?;
            let alive: f64 = allocations(&run.profile)?
                .sites
                .iter()
                .map(|site| site.live.objects)
                .sum();
            ensure!(alive > 0.0, "{}", run.name);
        }
    }
    Ok(())
}
