//! The agent as a profiler for JVMPI, loaded by the layer: it must record what it records through JVM TI.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use loadhook_profile::{Amount, Profile, Seen};

mod support;
use support::{Program, edges, finish, marks};

/// Allocated objects and bytes, and live objects and bytes, by type and place.
type Sums = BTreeMap<(String, String), [u64; 4]>;

/// The types that the program's instructions make. The JVM also makes strings while it links a class, in whichever thread
/// uses the class first.
const TYPES: [&str; 5] = [
    "DoubleAgent$Enough",
    "DoubleAgent$Kept",
    "DoubleAgent$Worker",
    "int[]",
    "java.util.ArrayList",
];

/// Returns the allocated and live objects of the program's own methods, by type, and by method and line.
fn objects(profile: &Profile) -> Result<Sums> {
    let allocations = marks::allocations(profile)?;
    ensure!(allocations.seen == Seen::All && allocations.live);
    let mut sums = Sums::new();
    for site in &allocations.sites {
        let Some(frame) = site.frame else {
            continue;
        };
        let frame = allocations.frames[frame as usize];
        let method = &profile.methods[frame.method as usize];
        if !method.class.starts_with("DoubleAgent") || !TYPES.contains(&&*site.type_name) {
            continue;
        }
        let place = format!("{}.{}:{:?}", method.class, method.name, frame.line);
        let sum = sums.entry((site.type_name.to_string(), place)).or_default();
        let numbers = |amount: Amount| [amount.objects as u64, amount.bytes.unwrap_or(0.0) as u64];
        let all = numbers(site.allocated)
            .into_iter()
            .chain(numbers(site.live));
        for (sum, number) in sum.iter_mut().zip(all) {
            *sum += number;
        }
    }
    Ok(sums)
}

fn counts_are_those_of_jvm_ti(feature: u32) -> Result<()> {
    let program =
        Program::new(feature, "DoubleAgent").options("all=true,timing=exact,alloc=live=exact");
    let by_jvmti = program.run()?;
    // Warnings of `-Xcheck:jni` are among what the program prints.
    let by_jvmpi = program.by_jvmpi().jvm(&["-Xcheck:jni"]).run()?;
    ensure!(by_jvmpi.output.stdout == by_jvmti.output.stdout);
    let main = "DoubleAgent";
    by_jvmpi.sound(3)?.same_calls(
        &edges(&by_jvmti.profile, main),
        &edges(&by_jvmpi.profile, main),
    )?;
    let (wanted, found) = (objects(&by_jvmti.profile)?, objects(&by_jvmpi.profile)?);
    ensure!(found == wanted, "{wanted:#?} expected: {found:#?}");
    let kept = (
        "DoubleAgent$Kept".to_owned(),
        "DoubleAgent.make:Some(43)".to_owned(),
    );
    ensure!(
        found
            .get(&kept)
            .is_some_and(|sum| sum[0] == 1500 && sum[2] == 300),
        "{found:#?}"
    );
    let header = &by_jvmpi.profile.header;
    ensure!(
        header.command == by_jvmti.profile.header.command
            && header
                .notes
                .iter()
                .any(|note| note.starts_with("recorded through JVMPI")),
        "{header:?}"
    );
    Ok(())
}

on_jdks!(counts_are_those_of_jvm_ti: on_17 17, on_25 25);

/// An option that needs JVM TI ends the JVM before the program runs, and the message says what helps.
#[test]
fn an_option_without_effect_is_refused() -> Result<()> {
    let program = Program::new(17, "DoubleAgent")
        .only_options("timing=sampled")
        .by_jvmpi();
    let folder = tempfile::tempdir()?;
    let output = finish(&mut program.command(&folder.path().join("profile.pb.gz"))?)?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(
        !output.status.success() && stderr.contains("use timing=adaptive"),
        "{output:?}"
    );
    Ok(())
}

/// Heap is kept for the end of the program even if no calls are recorded.
#[test]
fn objects_alone_keep_the_reserve() -> Result<()> {
    let program = Program::new(17, "Reserve")
        .only_options("timing=none,alloc=live=exact")
        .by_jvmpi()
        .jvm(&[
            "-Xmx64m",
            "-XX:+UseSerialGC",
            "--add-opens=java.base/java.lang=ALL-UNNAMED",
        ]);
    program.run()?.printed("1048552\n", 0)?;
    Ok(())
}
