//! The main class or jar in the command line of a JVM.

use crate::run::OPTIONS_WITH_VALUE;

/// Finds the main class or jar among the arguments of `java`. Returns `None` if the launcher has read
/// it from an argument file, or if the command is not `java`.
pub(super) fn program(arguments: &[String]) -> Option<String> {
    let (command, arguments) = arguments.split_first()?;
    if command.rsplit('/').next() != Some("java") {
        return None;
    }
    let mut arguments = arguments.iter();
    loop {
        let argument = arguments.next()?.as_str();
        match argument {
            "-jar" | "-m" | "--module" => return arguments.next().cloned(),
            _ if OPTIONS_WITH_VALUE.contains(&argument) => {
                arguments.next();
            }
            _ if argument.starts_with('@') => return None,
            _ if argument.starts_with('-') => {}
            _ => return Some(argument.to_owned()).filter(|name| !name.is_empty()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::program;

    #[test]
    fn the_program_follows_the_options() {
        for (command, expected) in [
            (
                "/jdk/bin/java|-cp|a:b|-Xmx1g|com.example.Main|x",
                Some("com.example.Main"),
            ),
            ("java|-jar|/a b/x.jar|y", Some("/a b/x.jar")),
            ("java|-p|mods|-m|app/app.Main", Some("app/app.Main")),
            ("java|@args|x", None),
            ("java|-version|", None),
            ("tomcat9|x", None),
            ("", None),
        ] {
            let arguments: Vec<String> = command.split('|').map(str::to_owned).collect();
            assert_eq!(program(&arguments).as_deref(), expected, "{command}");
        }
    }
}
