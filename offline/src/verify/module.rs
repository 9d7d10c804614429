//! Checks a module's description. It must have the old contents and the changes that the part needs. No row may
//! occur twice, because the JVM rejects such a description.

use loadhook_rewrite::constant_pool::{Constant, ConstantPool};
use loadhook_rewrite::{ClassFile, CpIndex, Result, Structure};

use crate::tracker;

/// Prefix of the packages of parts.
const PART: &[u8] = b"loadhook/a";

/// A row of a table: the name of a module or package, and the bytes after it.
type Row<'a> = (&'a [u8], &'a [u8]);

/// The contents of a description: the tables that may change, and the rest.
#[derive(Default)]
struct Said<'a> {
    requires: Vec<Row<'a>>,
    exports: Vec<Row<'a>>,
    lists_packages: bool,
    packages: Vec<Row<'a>>,
    /// Name and content of all attributes except `ModuleHashes`. The tables above are not part of the content.
    rest: Vec<(&'a [u8], &'a [u8])>,
}

/// Returns the first fault of the description `after`, which was made from `before`; `None` if there is no fault.
pub(super) fn compare(
    before: &ClassFile<'_>,
    after: &ClassFile<'_>,
) -> std::result::Result<(), String> {
    let read = |class| said(class).map_err(|error| error.to_string());
    let (before, after) = (read(before)?, read(after)?);
    if before.rest != after.rest {
        return Err("its attributes changed".to_owned());
    }
    let fault = |what: &str| format!("its {what} are not the old ones plus those of the tracker");
    let module = added(&before.requires, &after.requires).ok_or_else(|| fault("requires"))?;
    let export = added(&before.exports, &after.exports).ok_or_else(|| fault("exports"))?;
    let listed = added(&before.packages, &after.packages).ok_or_else(|| fault("packages"))?;

    let is_tracker = |row: &Row<'_>| row.0 == tracker::MODULE.as_bytes();
    let is_part = |row: &Row<'_>| row.0.starts_with(PART);
    // A plain `requires`, or an export to all.
    let is_plain = |row: &Row<'_>| row.1 == [0; 4];
    let finds_tracker = match (module, export) {
        (None, None) => listed.is_none() || after.requires.iter().any(is_tracker),
        (Some(module), None) => is_tracker(&module) && is_plain(&module),
        (None, Some(export)) => is_part(&export) && is_plain(&export),
        (Some(_), Some(_)) => false,
    };
    let has_package = match (listed, export) {
        (None, _) => !before.lists_packages || module.or(export).is_none(),
        (Some(listed), None) => is_part(&listed),
        (Some(listed), Some(export)) => listed.0 == export.0,
    };
    if finds_tracker && has_package {
        Ok(())
    } else {
        Err(
            "the added requirement or export does not give the module access to the tracker"
                .to_owned(),
        )
    }
}

/// Returns the one row that `after` has in addition to the rows of `before`. Returns `Some(None)` if there is no
/// such row, and `None` if there are several such rows, or a row occurs twice.
fn added<'a>(before: &[Row<'_>], after: &[Row<'a>]) -> Option<Option<Row<'a>>> {
    let mut olds = before.iter().peekable();
    let mut added = None;
    for row in after {
        if olds.next_if(|old| *old == row).is_none() && added.replace(*row).is_some() {
            return None;
        }
    }
    let is_twice = added.is_some_and(|(name, _)| before.iter().any(|old| old.0 == name));
    (olds.next().is_none() && !is_twice).then_some(added)
}

fn said<'a>(class: &ClassFile<'a>) -> Result<Said<'a>> {
    let pool = class.pool();
    let mut said = Said::default();
    for attribute in class.attributes() {
        let attribute = attribute?;
        let mut reader = attribute.reader(Structure::Class);
        let name = pool.utf8(attribute.name_index)?;
        let rest = match name {
            b"ModuleHashes" => continue,
            b"Module" => {
                let head = reader.take(6)?;
                for _ in 0..reader.u2()? {
                    let module = named(pool, reader.cp_index()?)?;
                    said.requires.push((module, reader.take(4)?));
                }
                for _ in 0..reader.u2()? {
                    let package = named(pool, reader.cp_index()?)?;
                    let targets = reader.clone();
                    reader.skip(2)?;
                    let len = 4 + 2 * usize::from(reader.u2()?);
                    reader = targets;
                    said.exports.push((package, reader.take(len)?));
                }
                said.rest.push((name, head));
                reader.take(reader.left())?
            }
            b"ModulePackages" => {
                said.lists_packages = true;
                for _ in 0..reader.u2()? {
                    said.packages.push((named(pool, reader.cp_index()?)?, &[]));
                }
                reader.take(reader.left())?
            }
            _ => attribute.info,
        };
        said.rest.push((name, rest));
    }
    Ok(said)
}

/// Returns the name of a module or package.
fn named<'a>(pool: &ConstantPool<'a>, index: CpIndex) -> Result<&'a [u8]> {
    match pool.get(index)? {
        Constant::Module { name } | Constant::Package { name } => pool.utf8(name),
        // No JVM accepts a description with another constant here, rewritten or not.
        _ => Ok(&[]),
    }
}
