//! Tests the tools that check rewritten classes, each with a good and a bad class.
//!
//! `cargo test -p loadhook-testkit --test verify`

use anyhow::Result;
use std::fs;
use std::path::Path;

use loadhook_testkit::corpus;
use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::source::{compile_one, patch};
use loadhook_testkit::verify::{FindingKind, VerifyReport, verify_originals, verify_tree};

/// `choose` compiles to `iload_0, ifle +5, iconst_1, ireturn, iconst_2, ireturn`, with a frame at 6.
const CODE: [u8; 8] = [0x1a, 0x9e, 0, 5, 4, 0xac, 5, 0xac];
const SOURCE: &str = "package p; public class Good {\n static int choose(int x) {\n if (x > 0)\n return 1;\n return 2; } }";

fn good() -> Result<Vec<u8>> {
    let folder = loadhook_testkit::source::compile(17, &[("Good.java", SOURCE)])?;
    Ok(fs::read(folder.join("p/Good.class"))?)
}

/// Makes `choose` ill-typed: `fconst_0, ireturn` instead of `iconst_1, ireturn`.
fn ill_typed(good: &[u8]) -> Result<Vec<u8>> {
    patch(good, &CODE, &[0x1a, 0x9e, 0, 5, 0x0b, 0xac, 5, 0xac])
}

/// Makes a folder with one class at the path `place`: the path has the module's folder, as `corpus`
/// exports it, or only the folder of the package.
fn tree(class: &[u8], place: &str) -> Result<tempfile::TempDir> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join(place);
    fs::create_dir_all(file.parent().unwrap_or(Path::new("/")))?;
    fs::write(file, class)?;
    Ok(folder)
}

fn judge(rewritten: &[u8], original: &[u8]) -> Result<VerifyReport> {
    let rewritten = tree(rewritten, "p/Good.class")?;
    let original = tree(original, "some.module/p/Good.class")?;
    verify_tree(rewritten.path(), original.path())
}

#[test]
fn a_missing_jdk_is_named() {
    let error = Jdk::find(99).expect_err("there is no JDK 99").to_string();
    assert!(
        error.contains("JDK 99 not found: set JAVA_HOME_99"),
        "{error}"
    );
}

#[test]
fn found_jdks_are_what_was_asked_for() -> Result<()> {
    for feature in [17, 25] {
        let jdk = Jdk::find(feature)?;
        assert_eq!(jdk.feature, feature);
        assert!(jdk.version.starts_with(&feature.to_string()), "{jdk:?}");
    }
    Ok(())
}

#[test]
fn untouched_jdks_are_clean() -> Result<()> {
    for feature in [17, 25] {
        let classes = corpus::jdk_classes(feature)?;
        assert!(classes.join("java.base/java/lang/Object.class").is_file());
        let report = verify_originals(&classes)?;
        assert_eq!(report.classes, corpus::walk(&classes)?.len());
        assert!(
            report.verified > 1_000 && report.verified + report.below_50 == report.classes,
            "{report:?}"
        );
        report.require_clean()?;
    }
    Ok(())
}

#[test]
fn a_good_class_verifies() -> Result<()> {
    let report = judge(&good()?, &good()?)?;
    assert_eq!(
        (report.classes, report.verified, report.below_50),
        (1, 1, 0)
    );
    report.require_clean()?;
    assert_eq!(report.known, []);
    Ok(())
}

#[test]
fn an_ill_typed_class_fails_to_verify() -> Result<()> {
    let good = good()?;
    let bad = ill_typed(&good)?;
    let report = judge(&bad, &good)?;
    assert_eq!(report.failures.len(), 1, "{report:?}");
    assert_eq!(report.failures[0].kind, FindingKind::Verify);
    assert!(report.failures[0].message.contains("choose"), "{report:?}");
    assert!(report.require_clean().is_err());

    let report = judge(&bad, &bad)?;
    assert_eq!(
        (report.failures.len(), report.known.len()),
        (0, 1),
        "{report:?}"
    );
    let alone = tree(&bad, "p/Good.class")?;
    assert_eq!(verify_originals(alone.path())?.failures.len(), 1);
    Ok(())
}

#[test]
fn version_50_does_not_hide_behind_the_old_verifier() -> Result<()> {
    let mut good = good()?;
    good[7] = 50;
    judge(&good, &good)?.require_clean()?;
    assert_eq!(judge(&ill_typed(&good)?, &good)?.failures.len(), 1);
    good[7] = 49;
    assert_eq!(judge(&ill_typed(&good)?, &good)?.below_50, 1);
    Ok(())
}

/// Each case has the position of a table's entry, and a value that makes it point into the middle
/// of `ifle`.
#[test]
fn tables_that_miss_instructions_fail() -> Result<()> {
    let good = good()?;
    let cases: [(&str, &[u8], &[u8]); 5] = [
        (
            "LineNumberTable",
            &[0, 3, 0, 0, 0, 3, 0, 4, 0, 4, 0, 6, 0, 5],
            &[0, 3, 0, 0, 0, 3, 0, 2, 0, 4, 0, 6, 0, 5],
        ),
        (
            "LocalVariableTable",
            &[12, 0, 1, 0, 0, 0, 8],
            &[12, 0, 1, 0, 3, 0, 5],
        ),
        (
            "LocalVariableTable",
            &[12, 0, 1, 0, 0, 0, 8],
            &[12, 0, 1, 0, 0, 0, 3],
        ),
        (
            "StackMapTable",
            &[0, 0, 0, 3, 0, 1, 6],
            &[0, 0, 0, 3, 0, 1, 2],
        ),
        ("jump", &CODE, &[0x1a, 0x9e, 0, 2, 4, 0xac, 5, 0xac]),
    ];
    for (table, from, to) in cases {
        let bad = patch(&good, from, to)?;
        let report = judge(&bad, &good)?;
        let found = report.failures.iter().any(|failure| {
            failure.kind == FindingKind::Tables
                && failure.message.contains(&format!("choose(I)I: {table}: "))
        });
        assert!(found, "{table} {to:?}: {report:?}");
        let known = judge(&bad, &bad)?;
        assert!(
            known.failures.is_empty() && !known.known.is_empty(),
            "{table}: {known:?}"
        );
    }
    Ok(())
}

#[test]
fn handlers_that_miss_instructions_fail() -> Result<()> {
    let source = "public class Catches { static int run() { try { return Integer.parseInt(\"x\"); }\n catch (RuntimeException e) { return 1; } } }";
    let class = compile_one(17, "Catches", source)?;
    // The code is ldc "x", invokestatic, ireturn (at 0, 2, 5), astore_0, iconst_1, ireturn.
    for bad in [
        [0, 1, 0, 5, 0, 6],
        [0, 0, 0, 4, 0, 6],
        [0, 0, 0, 5, 0, 4],
        [0, 0, 0, 0, 0, 6],
    ] {
        let bad = patch(&class, &[0, 0, 0, 5, 0, 6], &bad)?;
        let report = judge(&bad, &class)?;
        assert!(
            report
                .failures
                .iter()
                .any(|failure| failure.message.contains("run()I: exception_table: ")),
            "{report:?}"
        );
    }
    Ok(())
}

#[test]
fn type_annotations_that_miss_instructions_fail() -> Result<()> {
    let source = "import java.lang.annotation.*; public class Annotated {
        @Target(ElementType.TYPE_USE) @interface A { String[] value() default {}; }
        static Object run(Object o) { @A({\"v\", \"w\"}) String s = (@A String) o; return new @A Object[s.length()]; } }";
    let class = compile_one(17, "Annotated", source)?;
    // The code is aload_0, checkcast (at 1), astore_1 (at 4); the variable is live from 5 on.
    judge(&class, &class)?.require_clean()?;
    let cast = patch(&class, &[0x47, 0, 1, 0], &[0x47, 0, 2, 0])?;
    let report = judge(&cast, &class)?;
    assert!(
        report
            .failures
            .iter()
            .any(|f| f.message.contains("TypeAnnotations: the target 2")),
        "{report:?}"
    );
    let variable = patch(&class, &[0x40, 0, 1, 0, 5], &[0x40, 0, 1, 0, 3])?;
    let report = judge(&variable, &class)?;
    assert!(
        report
            .failures
            .iter()
            .any(|f| f.message.contains("TypeAnnotations: start_pc 3")),
        "{report:?}"
    );
    Ok(())
}

#[test]
fn a_truncated_class_is_unreadable() -> Result<()> {
    let good = good()?;
    let report = judge(&good[..good.len() - 1], &good)?;
    assert_eq!(report.failures.len(), 1, "{report:?}");
    assert_eq!(report.failures[0].kind, FindingKind::Unreadable);
    let mut longer = good.clone();
    longer.push(0);
    assert_eq!(
        judge(&longer, &good)?.failures[0].kind,
        FindingKind::Unreadable
    );
    Ok(())
}

/// The verifier takes the class hierarchy from the original tree, which here has a class that the
/// running JDK lacks.
#[test]
fn the_hierarchy_comes_from_the_original() -> Result<()> {
    let source = "package p; class Base {} class Left extends Base {} class Right extends Base {}
        public class User { static Base pick(boolean b) { return b ? new Left() : new Right(); } }";
    let folder = loadhook_testkit::source::compile(17, &[("User.java", source)])?;
    let user = fs::read(folder.join("p/User.class"))?;
    let rewritten = tree(&user, "p/User.class")?;
    verify_tree(rewritten.path(), &folder)?.require_clean()?;
    let report = verify_tree(rewritten.path(), tree(&user, "p/User.class")?.path())?;
    assert_eq!(
        report.known.len(),
        1,
        "a class without its superclasses must not verify: {report:?}"
    );
    Ok(())
}
