//! Finds JVM options that exclude an agent or already load one, on the command line
//! and in variables.

use std::collections::VecDeque;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

/// An option about class-data archives. With an agent, a JVM that should write such an archive
/// stops, or leaves out classes that the agent changed.
struct Setting {
    /// The setting, which a later option can change.
    what: &'static str,
    /// True if the setting makes the JVM write an archive.
    writes: bool,
}

impl Setting {
    fn of(word: &str) -> Option<Setting> {
        let flags = ["AutoCreateSharedArchive", "RecordDynamicDumpInfo"];
        let files = ["ArchiveClassesAtExit", "AOTCacheOutput"];
        let modes = [
            ("-XX:AOTMode=", &["create", "record"][..]),
            ("-Xshare:", &["dump"]),
        ];
        let flag = flags.into_iter().find_map(|flag| {
            let sign = word.strip_prefix("-XX:")?.strip_suffix(flag)?;
            let writes = sign == "+";
            (writes || sign == "-").then_some(Setting { what: flag, writes })
        });
        let file = || {
            let option = word.strip_prefix("-XX:")?;
            let what = files.into_iter().find(|file| option.starts_with(file))?;
            Some(Setting { what, writes: true })
        };
        let mode = || {
            modes.into_iter().find_map(|(what, refused)| {
                let writes = refused.contains(&word.strip_prefix(what)?);
                Some(Setting { what, writes })
            })
        };
        flag.or_else(file).or_else(mode)
    }
}

/// Options of the `java` launcher whose value is the next argument.
pub(crate) const OPTIONS_WITH_VALUE: &[&str] = &[
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

/// Finds an option that cannot be combined with an agent, and the variable that contains it.
/// `arguments` are the arguments of `java`; `None` if the command is not `java`.
pub(crate) fn refused(arguments: Option<&[OsString]>) -> Option<String> {
    let placed = placed(arguments).map(|(word, place)| {
        let place = match place {
            "" => String::new(),
            variable => format!(" (in {variable})"),
        };
        (word, place)
    });
    last_refused(placed).map(|(word, place)| word + &place)
}

/// Returns the place of an option that already loads the library of this file name: the name of a
/// variable, or `the command`. `arguments` are the arguments of `java`; `None` if the command is
/// not `java`.
pub(crate) fn with_agent(arguments: Option<&[OsString]>, file: &str) -> Option<&'static str> {
    let loads = |word: &str| {
        let library = word.strip_prefix("-agentpath:");
        let library = library.and_then(|library| library.split('=').next());
        library.is_some_and(|library| Path::new(library).ends_with(file))
    };
    let place = placed(arguments).find_map(|(word, place)| loads(&word).then_some(place));
    place.map(|place| match place {
        "" => "the command",
        variable => variable,
    })
}

/// Returns the options of the JVM in the order in which the JVM applies them. Each option comes
/// with the variable that contains it, or with `""` for the command line.
fn placed(arguments: Option<&[OsString]>) -> impl Iterator<Item = (String, &'static str)> {
    // The options looked for have only ASCII letters, which the conversion keeps.
    let text = |argument: &OsString| argument.to_string_lossy().into_owned();
    let variable = |name: &str| -> Vec<String> {
        let value = env::var_os(name).unwrap_or_default();
        words(&value.to_string_lossy()).into()
    };
    let arguments: Vec<String> = arguments.unwrap_or_default().iter().map(text).collect();
    let all = [
        (variable("JAVA_TOOL_OPTIONS"), "JAVA_TOOL_OPTIONS"),
        (own(&variable("JDK_JAVA_OPTIONS")), "JDK_JAVA_OPTIONS"),
        (own(&arguments), ""),
        (variable("_JAVA_OPTIONS"), "_JAVA_OPTIONS"),
    ];
    all.into_iter().flat_map(|(words, place)| {
        let words = with_option_files(words).into_iter();
        words.map(move |word| (word, place))
    })
}

/// Returns the first option that writes an archive and that no later option revokes.
fn last_refused<P>(words: impl IntoIterator<Item = (String, P)>) -> Option<(String, P)> {
    let mut refused: Vec<(&str, (String, P))> = Vec::new();
    for word in words {
        if let Some(Setting { what, writes }) = Setting::of(&word.0) {
            refused.retain(|(known, _)| *known != what);
            if writes {
                refused.push((what, word));
            }
        }
    }
    refused.into_iter().next().map(|(_, word)| word)
}

/// Replaces option files by the options in them.
fn with_option_files(options: Vec<String>) -> Vec<String> {
    let read = |option: String| match option.strip_prefix("-XX:VMOptionsFile=") {
        Some(file) => words(&fs::read_to_string(file).unwrap_or_default()).into(),
        None => vec![option],
    };
    options.into_iter().flat_map(read).collect()
}

/// Returns the arguments for the JVM, without those for the program. Argument files are replaced by
/// their arguments.
fn own(arguments: &[String]) -> Vec<String> {
    let mut rest: VecDeque<String> = arguments.iter().cloned().collect();
    let mut own = Vec::new();
    let mut files = true;
    // The number of following arguments that come from a file. Such arguments name no further
    // files.
    let mut from_file = 0usize;
    while let Some(argument) = rest.pop_front() {
        let is_from_file = from_file > 0;
        from_file = from_file.saturating_sub(1);
        match argument.strip_prefix('@') {
            Some(file) if files && !is_from_file && !file.starts_with('@') => {
                let read = argument_file(Path::new(file));
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
        if OPTIONS_WITH_VALUE.contains(&argument.as_str()) {
            rest.pop_front();
            from_file = from_file.saturating_sub(1);
        }
        own.push(argument);
    }
    own
}

/// Returns the arguments in an argument file; none if the file cannot be read.
pub(super) fn argument_file(file: &Path) -> VecDeque<String> {
    words(&without_comments(
        &fs::read_to_string(file).unwrap_or_default(),
    ))
}

/// Splits text at white space outside of quotes, and removes the quotes.
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

/// Removes the comments of an argument file: from `#` to the end of the line.
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

/// Quotes an option for `JAVA_TOOL_OPTIONS` if it contains spaces or quotes.
pub(crate) fn quoted(option: &str) -> String {
    if !option.contains([' ', '\t', '\n', '\'', '"']) {
        return option.to_owned();
    }
    // Double quotes are put in single quotes, everything else in double quotes.
    let parts: Vec<&str> = option.split('"').collect();
    format!("\"{}\"", parts.join("\"'\"'\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(arguments: &[&str]) -> Option<String> {
        let arguments: Vec<String> = arguments.iter().map(|a| (*a).to_owned()).collect();
        let own = with_option_files(own(&arguments)).into_iter();
        last_refused(own.map(|word| (word, ()))).map(|(word, ())| word)
    }

    #[test]
    fn options_after_the_main_class_belong_to_the_program() {
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
        let folder = tempfile::tempdir().expect("a temporary folder can be created");
        let file = folder.path().join("args");
        let write = |text: &str| std::fs::write(&file, text).expect("the test file can be written");
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
    fn the_last_value_of_an_option_counts() {
        let create = "-XX:+AutoCreateSharedArchive";
        let not = "-XX:-AutoCreateSharedArchive";
        let (record, off) = ("-XX:AOTMode=record", "-XX:AOTMode=off");
        for (options, refused) in [
            (&[create, not, "Main"][..], None),
            (&[not, create, "Main"], Some(create)),
            (&[create, not, record, "Main"], Some(record)),
            (&[record, off, "-Xshare:dump", "-Xshare:auto", "Main"], None),
            (&["-XX:-RecordDynamicDumpInfo", "Main"], None),
            (&[record, "Main", off], Some(record)),
        ] {
            assert_eq!(found(options).as_deref(), refused, "{options:?}");
        }
    }

    #[test]
    fn files_of_options_are_read() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file can be created");
        let option = format!("-XX:VMOptionsFile={}", file.path().display());
        let archive = "-XX:ArchiveClassesAtExit=my x.jsa";
        let text = "-Xmx64m\n-XX:ArchiveClassesAtExit='my x.jsa'\n";
        std::fs::write(file.path(), text).expect("the test file can be written");
        assert_eq!(found(&[&option, "Main"]).as_deref(), Some(archive));
        assert_eq!(found(&["Main", &option]), None);
        assert_eq!(found(&["-XX:VMOptionsFile=none", "Main"]), None);
    }

    #[test]
    fn quotes_are_undone_by_the_splitting() {
        for option in ["a", "a b", "a'b c", "a\"b c", "'\" \"'", "a\tb"] {
            assert_eq!(words(&quoted(option)), [option.to_owned()], "{option}");
        }
    }
}
