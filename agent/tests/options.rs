//! Tests the agent's options.

use anyhow::{Result, ensure};

mod support;
use support::{Program, finish};

/// Invalid options stop the JVM before `main`, with a message of one line. No other problem stops
/// the JVM.
#[test]
fn wrong_options_stop_the_jvm() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("profile.pb.gz");
    for (options, message) in [
        (
            "timing=fast",
            "timing=fast: expected sampled, adaptive, exact, count or none",
        ),
        ("include=a/b", "packages are separated by dots here"),
        (
            "snapshot-every=10",
            "snapshot-every=10: expected a time of at least",
        ),
        ("file=", "the option file has no value"),
        ("manifest=", "the option manifest has no value"),
    ] {
        let program = Program::new(17, "Exits").options(options);
        let output = finish(&mut program.command(&file)?)?;
        let stdout = String::from_utf8_lossy(&output.stdout);
        let stderr = String::from_utf8_lossy(&output.stderr);
        ensure!(
            !output.status.success() && !stdout.contains("caught"),
            "{output:?}"
        );
        ensure!(stderr.contains(message), "{options}: {stderr}");
        ensure!(!file.exists());
    }
    Ok(())
}
