//! Finds allocations by marks: comments `// @mark` at lines of the program.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use loadhook_profile::{Allocations, Amount, Frame, Profile, Site};

use super::{Program, finish, read};

/// Returns the marked lines of a program, with the names of their marks.
pub(crate) fn marks(program: &str) -> Result<BTreeMap<u32, String>> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/java/{program}.java"));
    let text = fs::read_to_string(source)?;
    let marked = (1..).zip(text.lines());
    let marks =
        marked.filter_map(|(line, text)| Some((line, text.split_once("// @")?.1.to_owned())));
    Ok(marks.collect())
}

pub(crate) fn allocations(profile: &Profile) -> Result<&Allocations> {
    profile
        .allocations
        .as_ref()
        .context("the profile has no allocations")
}

/// Runs `Kept` under `alloc=MODE` with snapshots. Returns the notes of the profile, and the text by
/// which they name the growing site.
pub(crate) fn run_kept(feature: u32, mode: &str) -> Result<(Vec<String>, String)> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("profile.pb.gz");
    let path = file.display().to_string();
    let program = Program::new(feature, "Kept")
        .options(&format!("alloc={mode},snapshot-every=100ms"))
        .jvm(&["-Xmx600m"])
        .args(&[&path]);
    let output = finish(&mut program.command(&file)?)?;
    ensure!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
    let line = marks("Kept")?.into_iter().find(|(_, mark)| mark == "grows");
    let place = format!(
        "of int[] from Kept.main:{}",
        line.context("the line has no mark")?.0
    );
    Ok((read(&file)?.header.notes, place))
}

/// Returns the sums of the allocated or of the live objects, by mark and type.
pub(crate) fn by_mark(
    profile: &Profile,
    program: &str,
    amount: fn(&Site) -> Amount,
) -> Result<BTreeMap<(String, String), Amount>> {
    let marks = marks(program)?;
    let allocations = allocations(profile)?;
    let mut found: BTreeMap<(String, String), Amount> = BTreeMap::new();
    for site in &allocations.sites {
        let frame = |at: u32| allocations.frames[at as usize];
        // The JDK's generated code that makes a lambda object has no line, so look for a marked
        // line among its callers.
        let path = std::iter::successors(site.frame.map(frame), |f| f.parent.map(frame));
        let mark = |frame: Frame| {
            let method = &profile.methods[frame.method as usize];
            let is_ours = method.file.as_deref() == Some(&format!("{program}.java"));
            marks.get(&frame.line.filter(|_| is_ours)?)
        };
        let Some(mark) = path.take(16).find_map(mark) else {
            continue;
        };
        // Before JDK 21, the name of a lambda's class contains a number that differs between runs.
        let name = match site.type_name.find("$$Lambda") {
            Some(at) => &site.type_name[..at + "$$Lambda".len()],
            None => &site.type_name,
        };
        let sum = found.entry((mark.clone(), name.to_owned())).or_default();
        let one = amount(site);
        sum.objects += one.objects;
        sum.bytes =
            Some(sum.bytes.unwrap_or(0.0) + one.bytes.context("the number of bytes is unknown")?);
        sum.objects_variance += one.objects_variance;
        sum.bytes_variance += one.bytes_variance;
    }
    Ok(found)
}
