//! Tests the tool by which HotSpot links a tree of classes, with good and bad classes.
//!
//! `cargo test -p loadhook-testkit --test link`

use anyhow::{Context, Result};
use std::fs;
use std::path::Path;

use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::link::{Linked, link_tree, require_all};
use loadhook_testkit::source::{compile, patch};

/// Sources. `Sub` overrides a method with its own type in the signature, and extends a
/// package-private class; both work only if one loader defines all classes of the tree. `Loud` must
/// not be initialised.
const SOURCE: &str = "package p;
class Base<T> { Object same(T t) { return t; } }
class Sub extends Base<Sub> { @Override Object same(Sub s) { return s; } static int choose(int x) { if (x > 0) return 1; return 2; } }
class SubSub extends Sub { }
class Loud { static { System.out.println(\"initialised\"); System.exit(3); } static void run() { loadhook.Tracker.enter(1); } }";

fn tree() -> Result<tempfile::TempDir> {
    let tracker = include_str!("../java/loadhook/Tracker.java");
    let classes = compile(8, &[("Base.java", SOURCE), ("Tracker.java", tracker)])?;
    // The tree has no tracker. The tool finds the tracker among the kit's Java programs.
    let folder = tempfile::tempdir()?;
    let package = folder.path().join("p");
    fs::create_dir(&package)?;
    for class in fs::read_dir(classes.join("p"))? {
        let class = class?;
        fs::copy(class.path(), package.join(class.file_name()))?;
    }
    Ok(folder)
}

/// Makes `p/Sub` ill-typed (`fconst_0, ireturn` instead of `iconst_1, ireturn`), with this class
/// file version.
fn ill_typed(tree: &Path, version: u8) -> Result<Vec<u8>> {
    let good = fs::read(tree.join("p/Sub.class"))?;
    let mut bad = patch(
        &good,
        &[0x1a, 0x9e, 0, 5, 4, 0xac, 5, 0xac],
        &[0x1a, 0x9e, 0, 5, 0x0b, 0xac, 5, 0xac],
    )?;
    bad[7] = version;
    Ok(bad)
}

fn result<'a>(linked: &'a [Linked], class: &str) -> Result<&'a Result<(), String>> {
    let found = linked.iter().find(|(file, _)| file == Path::new(class));
    Ok(&found
        .with_context(|| format!("{class} is missing: {linked:?}"))?
        .1)
}

#[test]
fn good_classes_link_and_do_not_run() -> Result<()> {
    for feature in [17, 25] {
        let linked = link_tree(&Jdk::find(feature)?, tree()?.path(), &[])?;
        assert_eq!(linked.len(), 4);
        require_all(&linked)?;
    }
    Ok(())
}

#[test]
fn an_ill_typed_class_does_not_link_in_any_version() -> Result<()> {
    let versions = [45, 49, 50, 51, 52];
    let tree = tree()?;
    for version in versions {
        fs::write(
            tree.path().join(format!("{version}.class")),
            ill_typed(tree.path(), version)?,
        )?;
    }
    fs::remove_file(tree.path().join("p/Sub.class"))?;
    for feature in [17, 25] {
        let linked = link_tree(&Jdk::find(feature)?, tree.path(), &[])?;
        for version in versions {
            let error = result(&linked, &format!("{version}.class"))?
                .clone()
                .expect_err("the class has a type error");
            assert!(
                error.starts_with("java.lang.VerifyError: "),
                "JDK {feature}, version {version}: {error}"
            );
            assert!(error.contains("p/Sub"), "{error}");
        }
        assert!(
            result(&linked, "p/SubSub.class")?.is_err(),
            "the class links, although its superclass does not"
        );
        assert_eq!(result(&linked, "p/Base.class")?, &Ok(()));
        assert!(require_all(&linked).is_err());
    }
    Ok(())
}

#[test]
fn needed_classes_may_be_on_the_class_path() -> Result<()> {
    let (whole, part) = (tree()?, tempfile::tempdir()?);
    fs::create_dir_all(part.path().join("flat"))?;
    fs::copy(
        whole.path().join("p/SubSub.class"),
        part.path().join("flat/any-name.class"),
    )?;
    let jdk = Jdk::find(17)?;
    let error = result(&link_tree(&jdk, part.path(), &[])?, "flat/any-name.class")?
        .clone()
        .expect_err("the superclass is missing");
    assert!(
        error.starts_with("java.lang.NoClassDefFoundError: p/Sub"),
        "{error}"
    );
    // A package-private superclass in another loader is not accessible, as in real programs.
    let error = result(
        &link_tree(&jdk, part.path(), &[whole.path()])?,
        "flat/any-name.class",
    )?
    .clone()
    .expect_err("the class is in another package");
    assert!(
        error.starts_with("java.lang.IllegalAccessError: "),
        "{error}"
    );
    fs::copy(
        whole.path().join("p/Sub.class"),
        part.path().join("flat/sub.class"),
    )?;
    fs::copy(
        whole.path().join("p/Base.class"),
        part.path().join("flat/base.class"),
    )?;
    require_all(&link_tree(&jdk, part.path(), &[])?)
}
