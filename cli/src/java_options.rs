//! Options with which a JVM takes no agent, wherever they may stand.

use std::collections::VecDeque;
use std::env;
use std::ffi::OsString;
use std::fs;

/// What makes the JVM write an archive of classes: with an agent it stops, or
/// archives nothing of what the agent changed.
const REFUSED: &[&str] = &[
    "-XX:ArchiveClassesAtExit",
    "-XX:+AutoCreateSharedArchive",
    "-XX:+RecordDynamicDumpInfo",
    "-XX:AOTMode=create",
    "-XX:AOTMode=record",
    "-XX:AOTCacheOutput",
    "-Xshare:dump",
];

/// Options of the launcher whose value is the next argument.
const WITH_VALUE: &[&str] = &[
    "-cp",
    "-classpath",
    "--class-path",
    "-p",
    "--module-path",
    "--upgrade-module-path",
    "--add-modules",
    "--limit-modules",
    "--add-exports",
    "--add-opens",
    "--add-reads",
    "--patch-module",
    "--enable-native-access",
    "--illegal-native-access",
    "--source",
    "-d",
    "--describe-module",
];

/// An option with which no agent is taken, and where it stands.
///
/// `arguments` are those of `java`, where that is the program.
pub(crate) fn refused(arguments: Option<&[OsString]>) -> Option<String> {
    let is_refused = |word: &String| REFUSED.iter().any(|option| word.starts_with(option));
    // No option that counts here has letters that could be lost.
    let text = |argument: &OsString| argument.to_string_lossy().into_owned();
    let arguments = arguments.map(|arguments| arguments.iter().map(text).collect::<Vec<_>>());
    let found = arguments.and_then(|arguments| own(&arguments).into_iter().find(is_refused));
    found.or_else(|| {
        let variables = ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"];
        variables.into_iter().find_map(|variable| {
            let words: Vec<String> = words(&env::var_os(variable)?.to_string_lossy()).into();
            let words = match variable {
                "JDK_JAVA_OPTIONS" => own(&words),
                _ => words,
            };
            let found = words.into_iter().find(is_refused)?;
            Some(format!("{found} (in {variable})"))
        })
    })
}

/// The arguments that are the JVM's, not the program's, with those of argument
/// files.
fn own(arguments: &[String]) -> Vec<String> {
    let mut rest: VecDeque<String> = arguments.iter().cloned().collect();
    let mut own = Vec::new();
    let mut files = true;
    // Files name no further files.
    let mut from_file = 0usize;
    while let Some(argument) = rest.pop_front() {
        let is_from_file = from_file > 0;
        from_file = from_file.saturating_sub(1);
        match argument.strip_prefix('@') {
            Some(file) if files && !is_from_file && !file.starts_with('@') => {
                let text = fs::read_to_string(file).unwrap_or_default();
                let read = words(&without_comments(&text));
                from_file = read.len();
                for word in read.into_iter().rev() {
                    rest.push_front(word);
                }
                continue;
            }
            _ if !argument.starts_with('-') => break,
            _ => {}
        }
        if argument == "-m" || argument == "--module" {
            break;
        }
        files &= argument != "--disable-@files";
        if WITH_VALUE.contains(&argument.as_str()) {
            rest.pop_front();
            from_file = from_file.saturating_sub(1);
        }
        own.push(argument);
    }
    own
}

/// The text split at blanks outside of quotes, and without these.
fn words(text: &str) -> VecDeque<String> {
    let mut words = VecDeque::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for char in text.chars() {
        match quote {
            Some(end) if char == end => quote = None,
            Some(_) => word.get_or_insert_default().push(char),
            None if char.is_whitespace() => words.extend(word.take()),
            None if char == '"' || char == '\'' => {
                quote = Some(char);
                word.get_or_insert_default();
            }
            None => word.get_or_insert_default().push(char),
        }
    }
    words.extend(word);
    words
}

/// An argument file without its comments, which go from `#` to the line's end.
fn without_comments(text: &str) -> String {
    let code = |line: &str| {
        let end = line
            .match_indices('#')
            .map(|(at, _)| at)
            .find(|at| line[..*at].matches(['"', '\'']).count().is_multiple_of(2));
        line[..end.unwrap_or(line.len())].to_owned()
    };
    text.lines().map(code).collect::<Vec<_>>().join("\n")
}

/// An option as `JAVA_TOOL_OPTIONS` takes it: blanks stand in quotes.
pub(crate) fn quoted(option: &str) -> String {
    if !option.contains([' ', '\t', '\n', '\'', '"']) {
        return option.to_owned();
    }
    // Quotes of one kind stand in quotes of the other.
    let parts: Vec<&str> = option.split('"').collect();
    format!("\"{}\"", parts.join("\"'\"'\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(arguments: &[&str]) -> Option<String> {
        let arguments: Vec<String> = arguments.iter().map(|a| (*a).to_owned()).collect();
        let own = own(&arguments);
        own.into_iter()
            .find(|word| REFUSED.iter().any(|option| word.starts_with(option)))
    }

    #[test]
    fn what_follows_the_program_is_its_own() {
        let option = "-XX:ArchiveClassesAtExit=x";
        for refused in [
            &[option, "-jar", "a.jar"][..],
            &["-cp", "a", option, "Main"],
            &["-jar", option, "a.jar"],
        ] {
            assert_eq!(found(refused).as_deref(), Some(option), "{refused:?}");
        }
        for taken in [
            &["-jar", "a.jar", option][..],
            &["-cp", option, "Main"],
            &["Main", option],
            &["-m", "a/b.Main", option],
            &["--class-path", "@a", "Main", "-Xshare:dump"],
            &["--disable-@files", "@a", option],
        ] {
            assert_eq!(found(taken), None, "{taken:?}");
        }
    }

    #[test]
    fn argument_files_are_read() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("args");
        let write = |text: &str| std::fs::write(&file, text).expect("the folder is ours");
        let name = format!("@{}", file.display());
        write("-cp 'a b' # -Xshare:dump\n\"-XX:AOTMode=record\"\n");
        let expected = Some("-XX:AOTMode=record");
        assert_eq!(found(&[&name, "Main"]).as_deref(), expected);
        write("-cp a Main");
        assert_eq!(found(&[&name, "-Xshare:dump"]), None);
        write("-cp");
        assert_eq!(found(&[&name, "-Xshare:dump", "Main"]), None);
    }

    #[test]
    fn quotes_are_undone_by_the_splitting() {
        for option in ["a", "a b", "a'b c", "a\"b c", "'\" \"'", "a\tb"] {
            assert_eq!(words(&quoted(option)), [option.to_owned()], "{option}");
        }
    }
}
