//! Refuses outputs that would replace a file of the command, such as the jar that it runs.

use std::collections::VecDeque;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::java_options::argument_file;
use crate::output::is_same;

/// Refuses an output if it is an existing file that the command or the variable `CLASSPATH` names.
/// The name may be a whole argument, a part of a class path or of an option, or in an argument
/// file.
pub(super) fn refuse(option: &str, output: &Path, command: &[OsString]) -> Result<()> {
    if !output.is_file() {
        return Ok(());
    }
    let class_path = env::var_os("CLASSPATH");
    let names_it = |argument: &OsStr| files(argument).iter().any(|file| is_same(file, output));
    let is_named = |argument: &&OsString| {
        let words = in_argument_file(argument);
        names_it(argument) || words.iter().any(|word| names_it(word.as_ref()))
    };
    if let Some(argument) = command.iter().chain(&class_path).find(is_named) {
        bail!(
            "{option} {}: this file would be replaced, but the command also names it ({}); give {option} another name",
            output.display(),
            argument.display()
        );
    }
    Ok(())
}

/// Returns the arguments in the file that an argument `@FILE` names.
fn in_argument_file(argument: &OsStr) -> VecDeque<String> {
    let file = argument.as_bytes().strip_prefix(b"@");
    let file = file.map(|file| Path::new(OsStr::from_bytes(file)));
    file.map(argument_file).unwrap_or_default()
}

/// Returns the files that an argument can name.
fn files(argument: &OsStr) -> Vec<PathBuf> {
    let whole = argument.as_bytes();
    // The option names the profile of a rewritten archive. The agent and the archive do not replace
    // each other's profiles.
    if whole.starts_with(b"-Dloadhook.") {
        return Vec::new();
    }
    // The argument is split into the parts of class paths and of options such as
    // `-javaagent:FILE=…`.
    let argument_file = whole.strip_prefix(b"@");
    let parts = whole.split(|byte| b":=,".contains(byte));
    let names = [Some(whole), argument_file].into_iter().flatten();
    let names = names.chain(parts).filter(|name| !name.is_empty());
    let paths = names.map(|name| Path::new(OsStr::from_bytes(name)));
    paths.flat_map(with_jars).collect()
}

/// Returns the path itself; for `folder/*` of a class path, the files in that folder.
fn with_jars(path: &Path) -> Vec<PathBuf> {
    if path.file_name() != Some(OsStr::new("*")) {
        return vec![path.to_owned()];
    }
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let entries = fs::read_dir(folder.unwrap_or(Path::new("."))).into_iter();
    let entries = entries.flatten().flatten().map(|entry| entry.path());
    let is_jar = |path: &PathBuf| {
        path.extension()
            .is_some_and(|end| end.eq_ignore_ascii_case("jar"))
    };
    entries.filter(is_jar).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_file_of_the_command_is_not_replaced() {
        let folder = tempfile::tempdir().expect("a temporary folder can be created");
        let path = |name: &str| folder.path().join(name);
        for file in ["app.jar", "x.pb.gz"] {
            fs::write(path(file), "").expect("the test file can be written");
        }
        symlink("app.jar", path("link")).expect("the symbolic link can be created");
        let listed = format!("-cp \"{}\" Main", path("app.jar").display());
        fs::write(path("args"), listed).expect("the test file can be written");
        let jar = path("app.jar").display().to_string();
        let link = path("link").display().to_string();
        let arguments = format!("@{}", path("args").display());
        let all = path("*").display().to_string();
        for (argument, output, is_refused) in [
            (jar.clone(), "app.jar", true),
            (link, "app.jar", true),
            (jar.clone(), "link", true),
            (format!("none.jar:{jar}"), "app.jar", true),
            (format!("-javaagent:{jar}=options"), "app.jar", true),
            (format!("--module-path={jar}"), "app.jar", true),
            (format!("-Dloadhook.file={jar}"), "app.jar", false),
            (arguments.clone(), "app.jar", true),
            (arguments, "args", true),
            (format!("none:{all}"), "app.jar", true),
            (all, "x.pb.gz", false),
            (jar.clone(), "x.pb.gz", false),
            // There is nothing to replace.
            (path("new").display().to_string(), "new", false),
        ] {
            let command = ["java".into(), OsString::from(&argument)];
            let refused = refuse("-o", &path(output), &command);
            assert_eq!(refused.is_err(), is_refused, "{argument} {output}");
        }
    }
}
