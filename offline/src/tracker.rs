//! The tracker's classes that are added to archives.

use loadhook_tracker::renamed;

use crate::module_info;
use crate::zip::{Archive, Output};

/// The string constant in the template that each part replaces by its own text.
const ARCHIVE: &str = "loadhook:archive";
/// The class from which parts are made.
const TEMPLATE: &str = "loadhook/Part";
/// The usual package of the tracker, with a slash. Trackers in modules are in other packages.
pub(crate) const PREFIX: &str = "loadhook/";
/// The module of a tracker in a separate jar.
pub(crate) const MODULE: &str = "loadhook.tracker";

/// A file to add to an archive: its name, with slashes, and its content.
pub(crate) type File = (String, Vec<u8>);

/// Makes the classes of the tracker in `package`, which is `loadhook/` or the package of a module.
pub(crate) fn classes(package: &str) -> Vec<File> {
    let rename = |name: &str| {
        name.strip_prefix(PREFIX)
            .map(|rest| format!("{package}{rest}"))
    };
    loadhook_tracker::CLASSES
        .iter()
        .chain(loadhook_tracker::OFFLINE_CLASSES)
        .filter(|(name, _)| *name != TEMPLATE)
        .map(|(name, class)| {
            let name = rename(name).unwrap_or_else(|| (*name).to_owned());
            (format!("{name}.class"), renamed(class, &rename))
        })
        .collect()
}

/// Makes the jar for [`Tracker::Jar`](crate::Tracker::Jar): the tracker as a
/// module, `loadhook.tracker`.
///
/// # Errors
/// Fails only if writing to memory fails, so never in practice.
pub fn jar() -> std::io::Result<Vec<u8>> {
    // The end record of an archive without entries.
    let empty = [&b"PK\x05\x06"[..], &[0; 18]].concat();
    let len = empty.len() as u64;
    let archive = Archive::open(empty, len).map_err(std::io::Error::other)?;
    let mut out = Vec::new();
    let mut output = Output::new(&mut out, &archive)?;
    output.add("META-INF/MANIFEST.MF", b"Manifest-Version: 1.0\r\n\r\n")?;
    let package = PREFIX.trim_end_matches('/');
    let description = module_info::of_tracker(MODULE, package);
    output.add("module-info.class", &description)?;
    for (name, content) in classes(PREFIX) {
        output.add(&name, &content)?;
    }
    output.finish(&archive)?;
    Ok(out)
}

/// Makes a part: the class `owner`, which the probes of a unit call. `unit` is the unit's id,
/// `methods` the number of the unit's method ids, and `package` the package of the tracker.
pub(crate) fn part(owner: &str, unit: &str, methods: u32, package: &str) -> File {
    let archive = format!("{unit} {methods}");
    let rename = |text: &str| match text {
        ARCHIVE => Some(archive.clone()),
        TEMPLATE => Some(owner.to_owned()),
        other => other
            .strip_prefix(PREFIX)
            .map(|rest| format!("{package}{rest}")),
    };
    let template = loadhook_tracker::OFFLINE_CLASSES
        .iter()
        .find(|(name, _)| *name == TEMPLATE);
    let (_, template) = template.expect("the tracker has a template of parts");
    (format!("{owner}.class"), renamed(template, &rename))
}
