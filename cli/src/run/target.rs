//! The files that the profiles of a command are written to.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::agent_path::utf8;

/// The maximum length of a file name in bytes.
const LONGEST_NAME: usize = 255;

/// The longest text that replaces `-%p` in a name: the largest process id, and a number. The agent
/// adds the number if there are several profiles with the same process id.
const LONGEST_PROCESS: &str = "-4194304.999";

/// The files that the profiles of a command are written to.
pub(super) struct Target {
    /// Name of the profile in the agent's options.
    pub(super) file: PathBuf,
    /// File for the profiles of all JVMs together, if the user named one file for a
    /// command that may start several JVMs.
    pub(super) whole: Option<PathBuf>,
}

impl Target {
    pub(super) fn new(output: &Path, is_java: bool) -> Result<Target> {
        let file = std::path::absolute(output)?;
        utf8(&file)?;
        let name = file.file_name().and_then(|name| name.to_str());
        let name = name.with_context(|| {
            format!(
                "--output: {}: not the name of a file; give another name",
                output.display()
            )
        })?;
        // %p stands for the process id in the file's name only, not in the folder's.
        if is_java || name.contains("%p") {
            return Ok(Target { file, whole: None });
        }
        // A leading dot does not begin an extension.
        let dot = name.char_indices().skip(1).find(|(_, char)| *char == '.');
        let (stem, extension) = name.split_at(dot.map_or(name.len(), |(at, _)| at));
        let room = LONGEST_NAME.saturating_sub(extension.len() + LONGEST_PROCESS.len());
        let stem = &stem[..stem.floor_char_boundary(room)];
        Ok(Target {
            file: file.with_file_name(format!("{stem}-%p{extension}")),
            whole: Some(file),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_leaves_room_for_the_process_id() {
        let file = |name: &str| {
            let target = Target::new(Path::new(name), false).expect("the path has a file name");
            target
                .file
                .file_name()
                .expect("the path has a file name")
                .to_owned()
        };
        assert_eq!(file("x.pb.gz"), "x-%p.pb.gz");
        let expected = "é".repeat(118) + "-%p.pb.gz";
        assert_eq!(file(&("é".repeat(124) + ".pb.gz")), *expected);
    }
}
