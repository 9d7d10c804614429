//! Hidden classes are counted like ordinary copies of a class, and the program must not notice
//! this.

use anyhow::{Result, ensure};
use loadhook_profile::Profile;

use loadhook_settings::control::Request;
use support::attach::Running;
use support::orders::Connection;
use support::{Finished, Program, agent, java_agent, read};
use tempfile::TempDir;

mod support;

/// JVM options that make it bind native methods before an agent can learn their names.
const EARLY_BOUND: [&str; 2] = ["--add-exports", "java.base/sun.nio=ALL-UNNAMED"];

fn hidden(feature: u32, modes: &[&str]) -> Program {
    let program = Program::new(feature, "Hidden").args(modes);
    // Without an archive of classes, `-Xcheck:jni` prints warnings about the JDK's own code.
    program.jvm(&["-Xcheck:jni"])
}

/// Returns the number of calls of a method, and the number of its rows.
fn calls(profile: &Profile, class: &str, method: &str) -> (u64, usize) {
    let is_it = |index: u32| {
        let it = &profile.methods[index as usize];
        &*it.class == class && &*it.name == method
    };
    let nodes = profile.threads.iter().flat_map(|thread| &thread.nodes);
    let in_trees = nodes.filter(|node| is_it(node.method)).map(|n| n.calls);
    let counted = profile.method_calls.iter().filter(|c| is_it(c.method));
    let calls = in_trees.chain(counted.map(|counted| counted.calls));
    let rows = (0..profile.methods.len()).filter(|index| is_it(*index as u32));
    (calls.sum(), rows.count())
}

fn counts(run: &Finished, expected: &[(&str, &str, u64)]) -> Result<()> {
    for (class, method, expected) in expected {
        let found = calls(&run.profile, class, method);
        ensure!(
            found == (*expected, usize::from(*expected > 0)),
            "{}: {class}.{method}: {expected} expected in one row, {found:?} found",
            run.name
        );
    }
    Ok(())
}

/// Checks that the profile has no class that the JDK generated.
fn no_spun(run: &Finished) -> Result<()> {
    let methods = run.profile.methods.iter();
    let spun: Vec<_> = methods
        .filter(|method| {
            let simple = method.class.rsplit('.').next().unwrap_or_default();
            ["$$", "LambdaForm$MH", "LambdaForm$DMH", "InjectedInvoker"]
                .iter()
                .any(|mark| simple.contains(mark))
        })
        .collect();
    ensure!(spun.is_empty(), "{}: {spun:?}", run.name);
    Ok(())
}

fn same_as_plain(program: &Program) -> Result<Finished> {
    let (plain, run) = (program.plain()?, program.run()?);
    ensure!(plain.status.code() == Some(0), "{plain:?}");
    ensure!(
        plain.stdout == run.output.stdout && plain.status == run.output.status,
        "{}: {plain:?} expected: {:?}",
        run.name,
        run.output
    );
    Ok(run)
}

fn copies_are_counted(feature: u32) -> Result<()> {
    let counted = [("Counted", "run", 630), ("Counted", "step", 630)];
    for jvm in [&[][..], &EARLY_BOUND] {
        let run = same_as_plain(&hidden(feature, &["copies"]).jvm(jvm))?;
        counts(&run, &counted)?;
        no_spun(&run)?;
        ensure!(
            run.profile.header.notes.is_empty(),
            "{:?}",
            run.profile.header.notes
        );
    }
    let run = same_as_plain(&hidden(feature, &["copies"]).options("timing=sampled"))?;
    counts(&run, &counted)?;
    // Hidden classes can be included and excluded by name.
    let run = same_as_plain(&hidden(feature, &["copies"]).options("include=Counted::step"))?;
    counts(&run, &[("Counted", "run", 0), ("Counted", "step", 630)])?;
    let run = same_as_plain(&hidden(feature, &["copies"]).options("exclude=Counted"))?;
    counts(&run, &[("Counted", "run", 0), ("Hidden", "copies", 1)])
}

fn everything_at_once(feature: u32) -> Result<()> {
    let modes = ["copies", "lambdas", "exceptions"];
    let run = same_as_plain(&hidden(feature, &modes).options("include=**"))?;
    no_spun(&run)?;
    let counted = [
        ("Counted", "run", 630),
        ("Counted", "step", 641),
        ("Counted", "fail", 11),
        ("Hidden", "twice", 100),
    ];
    counts(&run, &counted)
}

/// Exceptions in hidden classes, and bytes that the JVM refuses as a class.
fn exceptions_pass(feature: u32) -> Result<()> {
    let run = same_as_plain(&hidden(feature, &["exceptions"]))?;
    let counted = [
        ("Counted", "fail", 11),
        ("Counted", "step", 11),
        ("Failing", "<clinit>", 1),
    ];
    // The definition of an anonymous class does not initialise it.
    let counted = &counted[..if feature < 15 { 2 } else { 3 }];
    counts(&run, counted)
}

fn lambdas_stay_out(feature: u32) -> Result<()> {
    let run = same_as_plain(&hidden(feature, &["lambdas"]))?;
    no_spun(&run)?;
    counts(&run, &[("Hidden", "twice", 100), ("Hidden", "lambdas", 1)])
}

fn copies_are_unloaded(feature: u32) -> Result<()> {
    let run = same_as_plain(&hidden(feature, &["unloading"]))?;
    counts(&run, &[("Counted", "run", 2000), ("Counted", "step", 2000)])
}

fn options_hold(feature: u32) -> Result<()> {
    let run = same_as_plain(&hidden(feature, &["options"]))?;
    let counted = [
        ("Hidden$Mate", "reach", 7),
        ("Hidden", "secret", 7),
        ("Counted", "step", 7),
        ("Data", "length", 1),
    ];
    counts(&run, &counted)
}

on_each_jdk!(copies_are_counted everything_at_once exceptions_pass lambdas_stay_out copies_are_unloaded);
// JDKs before 15 have anonymous classes, which take no options.
on_jdks!(options_hold: on_17 17, on_21 21, on_25 25);

#[test]
fn every_collector() -> Result<()> {
    for (feature, collectors) in [
        (17, &["Serial", "Parallel", "G1", "Z", "Shenandoah"][..]),
        (25, &["Serial", "Z", "Shenandoah"]),
    ] {
        for collector in collectors {
            let option = format!("-XX:+Use{collector}GC");
            let program = Program::new(feature, "Hidden").args(&["copies", "unloading"]);
            let run = program
                .jvm(&[&option, "-Xmx64m", "-XX:+ExitOnOutOfMemoryError"])
                .run()?;
            counts(&run, &[("Counted", "run", 2630)])?;
        }
    }
    Ok(())
}

/// The JVM cannot retransform hidden classes, so a note names those that were defined before the
/// agent could instrument them.
fn early_classes_are_named(feature: u32) -> Result<()> {
    let jar = java_agent("Hidden")?;
    let option = format!("-javaagent:{}", jar.display());
    let run = Program::new(feature, "Hidden")
        .jvm(&[&option])
        .args(&["early"])
        .run()?;
    counts(&run, &[("Counted", "run", 30)])?;
    let notes = &run.profile.header.notes;
    let expected = "hidden classes of these names ran and are not counted, since they were \
                    defined before the agent could act: Counted";
    ensure!(notes.len() == 1 && notes[0] == expected, "{notes:?}");
    Ok(())
}

on_each_jdk!(early_classes_are_named);

/// Returns the number of allocated objects of a type in the methods of a class.
fn allocated(profile: &Profile, class: &str, type_name: &str) -> Option<f64> {
    let allocations = profile.allocations.as_ref()?;
    let sites = allocations.sites.iter().filter(|site| {
        let frame = site.frame.map(|at| allocations.frames[at as usize]);
        let method = frame.map(|frame| &profile.methods[frame.method as usize]);
        method.is_some_and(|method| &*method.class == class) && &*site.type_name == type_name
    });
    Some(sites.map(|site| site.allocated.objects).sum())
}

/// Allocation sites in hidden classes are counted.
fn allocations_are_counted(feature: u32) -> Result<()> {
    let program = hidden(feature, &["allocations"]).options("alloc=exact");
    let run = same_as_plain(&program)?;
    for (class, type_name, objects) in [
        ("Making", "int[]", 60.0),
        ("Making", "Making", 60.0),
        ("Alone", "Alone", 30.0),
    ] {
        let found = allocated(&run.profile, class, type_name).expect("allocations are counted");
        ensure!(
            (found - objects).abs() < 0.1,
            "{}: {class} makes {objects} {type_name}, not {found}",
            run.name
        );
    }
    Ok(())
}

on_each_jdk!(allocations_are_counted);

/// Probes of hidden classes stay in a pause, and count nothing. A hidden class that is defined in the pause is counted
/// after the pause.
fn pauses_hold_for_hidden_classes(feature: u32) -> Result<()> {
    let options = match feature {
        11 => "timing=count",
        17 => "timing=sampled,budget=none",
        21 => "timing=exact",
        _ => "timing=adaptive,budget=none,alloc=exact",
    };
    let folder = TempDir::new()?;
    let file = folder.path().join("profile.pb.gz");
    let option = format!(
        "-agentpath:{}={options},include=Counted,include=Making,all=true,control=true,quiet=true,file={}",
        agent()?.display(),
        file.display()
    );
    let mut program = Running::start(feature, "Hidden", &[&option, "-Xcheck:jni"])?;
    program.answer()?;
    let mut orders = Connection::new(&program)?;
    program.order("define")?;
    program.order("call 7")?;
    orders.ask(&Request::Pause)?;
    program.order("call 5")?;
    program.order("define")?;
    program.order("call 5")?;
    orders.ask(&Request::Resume)?;
    program.order("call 3")?;
    orders.ask(&Request::Pause)?;
    program.order("call 2")?;
    program.end()?;
    let profile = read(&file)?;
    // One hidden class and the ordinary one, then two hidden classes and the ordinary one.
    let expected = 2 * 7 + 3 * 3;
    for (class, method) in [("Counted", "run"), ("Counted", "step"), ("Making", "make")] {
        let found = calls(&profile, class, method);
        ensure!(found == (expected, 1), "{class}.{method}: {found:?}");
    }
    if let Some(made) = allocated(&profile, "Making", "Making") {
        ensure!((made - expected as f64).abs() < 0.1, "{made}");
    }
    let notes = &profile.header.notes;
    ensure!(
        !notes.iter().any(|note| note.contains("hidden classes")),
        "{notes:?}"
    );
    Ok(())
}

on_each_jdk!(pauses_hold_for_hidden_classes);

/// The array with the bytes of an instrumented class is not counted as an allocation of the program.
fn arrays_of_the_agent_are_not_counted(feature: u32) -> Result<()> {
    let program = hidden(feature, &["copies"]).options("timing=count,alloc=live=exact");
    let run = program.run()?;
    counts(&run, &[("Counted", "run", 630)])?;
    let allocations = run
        .profile
        .allocations
        .as_ref()
        .expect("the profile has allocations");
    let methods: Vec<_> = allocations
        .sites
        .iter()
        .filter(|site| &*site.type_name == "byte[]")
        .filter_map(|site| allocations.frames.get(site.frame? as usize))
        .map(|frame| &*run.profile.methods[frame.method as usize].name)
        .collect();
    ensure!(!methods.is_empty(), "{}", run.name);
    let notes = &run.profile.header.notes;
    let is_told = notes.iter().any(|note| note.contains("scalar replacement"));
    ensure!(is_told, "{}: {notes:?}", run.name);
    let ours = ["defineClass0", "defineAnonymousClass0"];
    ensure!(
        !methods.iter().any(|method| ours.contains(method)),
        "{}: {methods:?}",
        run.name
    );
    Ok(())
}

on_each_jdk!(arrays_of_the_agent_are_not_counted);
