//! Rewrites every class of JDK 17 and 25. Without probes, each class must be copied byte for byte.
//! With all probes, and with probes that only count calls, each class must pass the verifier, and
//! its debug tables must be consistent.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context, Error, Result, ensure};
use loadhook_rewrite::class::Member;
use loadhook_rewrite::{
    CallShape, ClassFile, Everything, Options, Outcome, Probes, Reason, Rewriter, Selector, Site,
};
use loadhook_testkit::{corpus, paths, verify};
use rayon::prelude::*;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// Returns the folder with a JDK's classes, and the paths of the classes relative to that folder.
fn classes(feature: u32) -> Result<(PathBuf, Vec<PathBuf>)> {
    let folder = corpus::jdk_classes(feature)?;
    let classes = corpus::walk(&folder)?;
    // Check that the JDK is complete.
    ensure!(
        classes.len() > 5_000,
        "more than 5,000 classes expected, {} found in {}",
        classes.len(),
        folder.display()
    );
    Ok((folder, classes))
}

fn identity(feature: u32) -> Result<()> {
    let (_, classes) = classes(feature)?;
    let methods: Vec<u32> = classes
        .par_iter()
        .map_init(
            || Rewriter::new(Options::default()),
            |rewriter, path| {
                let class = fs::read(path)?;
                let copy = rewriter
                    .copy(&class, |len| Some(vec![0; len]))
                    .with_context(|| path.display().to_string())?;
                let report = rewriter.report();
                ensure!(
                    report.left_alone.is_empty(),
                    "{}: {:?}",
                    path.display(),
                    report.left_alone
                );
                ensure!(report.instrumented == report.with_code);
                match copy {
                    Outcome::Rewritten(copy) => {
                        ensure!(
                            copy == class,
                            "the copy of {} differs from the original",
                            path.display()
                        );
                    }
                    Outcome::Unchanged => ensure!(report.with_code == 0),
                }
                Ok(report.with_code)
            },
        )
        .collect::<Result<_>>()?;
    println!(
        "JDK {feature}: {} classes, {} methods with code, all identical",
        methods.len(),
        methods.iter().sum::<u32>()
    );
    Ok(())
}

#[test]
fn copies_of_jdk_17_classes_are_identical() -> Result<()> {
    identity(17)
}

#[test]
fn copies_of_jdk_25_classes_are_identical() -> Result<()> {
    identity(25)
}

/// The rewritten classes of a JDK. One file takes a fraction of the time of a file for each class.
type Archive = Mutex<ZipWriter<File>>;

/// Rewrites all classes of a JDK into an archive, and verifies them. Fails if too many methods are
/// not instrumented.
fn verification(
    feature: u32,
    name: &str,
    options: &Options,
    selector: impl Fn() -> Everything + Sync,
) -> Result<()> {
    let (folder, classes) = classes(feature)?;
    let parent = paths::target().join("loadhook-tests");
    fs::create_dir_all(&parent)?;
    let file = tempfile::Builder::new().prefix(name).tempfile_in(parent)?;
    let archive = Mutex::new(ZipWriter::new(file.reopen()?));
    let results: Vec<(u32, u32, Vec<String>)> = classes
        .par_iter()
        .map_init(
            || Rewriter::new(options.clone()),
            |rewriter, path| {
                rewrite_to(rewriter, &mut selector(), &folder, path, &archive)
                    .with_context(|| path.display().to_string())
            },
        )
        .collect::<Result<_>>()?;
    let with_code: u32 = results.iter().map(|r| r.0).sum();
    let instrumented: u32 = results.iter().map(|r| r.1).sum();
    let refused: Vec<&String> = results.iter().flat_map(|r| &r.2).collect();
    println!("JDK {feature}, {name}: {instrumented} of {with_code} methods with code instrumented");
    for refused in &refused {
        println!("not instrumented: {refused}");
    }
    ensure!(
        refused.len() * 10_000 <= with_code as usize,
        "{} of {with_code} methods are not instrumented: {refused:#?}",
        refused.len()
    );
    let archive = archive
        .into_inner()
        .map_err(|_| Error::msg("a thread panicked"))?;
    archive.finish()?;
    let report = verify::verify_tree(file.path(), &folder)?;
    ensure!(report.classes == classes.len());
    // The JDK's verifier skips java.lang.Object and a few other classes, as HotSpot does.
    ensure!(report.verified + report.below_50 + 10 > report.classes);
    report.require_clean()
}

/// Writes the rewritten class to the archive. Returns the number of methods with code, the number of
/// instrumented methods, and the methods that are not instrumented for a reason other than
/// HotSpot's limit of 8,000 bytes.
fn rewrite_to(
    rewriter: &mut Rewriter,
    selector: &mut Everything,
    from: &Path,
    path: &Path,
    to: &Archive,
) -> Result<(u32, u32, Vec<String>)> {
    let class = fs::read(path)?;
    let outcome = rewriter.rewrite(&class, selector, |len| Some(vec![0; len]))?;
    let report = rewriter.report();
    let result = match &outcome {
        Outcome::Rewritten(rewritten) => rewritten,
        Outcome::Unchanged => {
            ensure!(report.instrumented == 0);
            &class
        }
    };
    {
        let name = path.strip_prefix(from)?.to_string_lossy();
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        let mut to = to.lock().map_err(|_| Error::msg("a thread panicked"))?;
        to.start_file(name, options)?;
        to.write_all(result)?;
    }
    ensure!(
        report.uncovered.is_empty(),
        "constructors compiled by javac are covered only in part: {:?}",
        report.uncovered
    );
    let refused = report
        .left_alone
        .iter()
        .filter(|left| {
            !left.reason.is_by_nature() && !matches!(left.reason, Reason::HugeMethod { .. })
        })
        .map(|left| {
            format!(
                "{}: method {}: {}",
                path.display(),
                left.method,
                left.reason
            )
        })
        .collect();
    Ok((report.with_code, report.instrumented, refused))
}

#[test]
fn jdk_17_with_every_probe_verifies() -> Result<()> {
    verification(17, "every-probe", &Options::default(), || {
        Everything::all(0)
    })
}

#[test]
fn jdk_25_with_every_probe_verifies() -> Result<()> {
    verification(25, "every-probe", &Options::default(), || {
        Everything::all(0)
    })
}

#[test]
fn jdk_17_with_count_probes_verifies() -> Result<()> {
    verification(17, "count", &Options::default(), || Everything::counts(0))
}

#[test]
fn jdk_25_with_count_probes_verifies() -> Result<()> {
    verification(25, "count", &Options::default(), || Everything::counts(0))
}

#[test]
fn jdk_25_with_trace_probes_verifies() -> Result<()> {
    verification(25, "trace", &Options::default(), || {
        Everything::traces_with_values(0)
    })
}

/// Rewrites with ids above 32,767, each of which takes an entry of the constant pool. Probes pass
/// two numbers, as in an old demo of the JDK. Methods may become too long for HotSpot's compilers.
#[test]
fn jdk_25_with_large_ids_and_two_numbers_verifies() -> Result<()> {
    let options = Options {
        call_shape: CallShape::ClassAndMethod { class: 1_000_000 },
        allow_huge_methods: true,
        ..Options::default()
    };
    verification(25, "two-numbers", &options, || Everything::all(40_000))
}

/// Checks that methods which must never be instrumented are recognised by their annotations. The
/// names of the annotations differ between JDKs.
#[test]
fn methods_that_must_not_be_instrumented_are_recognised() -> Result<()> {
    struct Timing;
    impl Selector for Timing {
        fn method(&mut self, method: &Member<'_, '_>) -> Probes {
            let class = method.class().name();
            assert!(
                class != b"java/lang/Math" || method.name() != b"sqrt",
                "the selector was called for Math.sqrt, an intrinsic, which must not get probes"
            );
            Probes {
                timing: Some(1),
                ..Probes::default()
            }
        }
        fn site(&mut self, _: &Member<'_, '_>, _: &Site<'_>) -> u32 {
            0
        }
    }
    for (feature, class, method, reason) in [
        (17, "java/lang/Math", "sqrt", Reason::IntrinsicCandidate),
        (25, "java/lang/Math", "sqrt", Reason::IntrinsicCandidate),
        (17, "java/lang/Object", "finalize", Reason::ObjectFinalize),
        (25, "java/lang/Object", "finalize", Reason::ObjectFinalize),
        (17, "java/lang/Enum", "finalize", Reason::EmptyFinalize),
        (
            25,
            "java/lang/VirtualThread",
            "mount",
            Reason::ChangesCurrentThread,
        ),
        (
            25,
            "java/lang/invoke/LambdaForm$Holder",
            "identity_L",
            Reason::Hidden,
        ),
    ] {
        let (folder, _) = classes(feature)?;
        let path = folder.join("java.base").join(format!("{class}.class"));
        let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
        let mut rewriter = Rewriter::new(Options::default());
        rewriter.rewrite(&bytes, &mut Timing, |len| Some(vec![0; len]))?;
        let parsed = ClassFile::parse(&bytes)?;
        let found = rewriter.report().left_alone.iter().find(|left| {
            let member = parsed.methods().nth(left.method.into());
            member.is_some_and(|m| m.name() == method.as_bytes())
        });
        ensure!(
            found.is_some_and(|left| left.reason == reason),
            "JDK {feature}: {class}.{method} should be left alone because of {reason:?}, but found {found:?}"
        );
    }
    Ok(())
}
