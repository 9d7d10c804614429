//! Names of the tracker's classes in the boot loader. build.rs uses it too.

/// The internal name of the class in the boot loader that probes call. The classes are in the package `java.lang`,
/// because every module reads `java.base`, and every loader finds `java.*`.
pub const BOOT_TRACKER: &str = "java/lang/$Loadhook";

/// Converts the internal name of a class in the tracker's code to its name in the boot loader; `None` if the name
/// stays.
#[must_use]
pub fn boot_name(name: &str) -> Option<String> {
    match name {
        "sun/misc/Unsafe" => return Some("jdk/internal/misc/Unsafe".to_owned()),
        "loadhook/OutOfLine" => {
            return Some("jdk/internal/vm/annotation/DontInline".to_owned());
        }
        "loadhook/Inlined" => {
            return Some("jdk/internal/vm/annotation/ForceInline".to_owned());
        }
        _ => {}
    }
    let rest = name.strip_prefix("loadhook/")?;
    let rest = rest.strip_prefix("Tracker").unwrap_or(rest);
    Some(format!("{BOOT_TRACKER}{rest}"))
}
