//! Runs the verifier of a JDK, `java.lang.classfile.ClassFile.verify`, in a JVM of
//! its own.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, anyhow, bail};
use loadhook_offline::verify::Changed;
use tempfile::TempDir;

/// First JDK version with this verifier.
const FIRST: u32 = 24;

/// Folders in which JDKs are installed.
const PLACES: [&str; 3] = [
    "/usr/lib/jvm",
    "/usr/java",
    "/Library/Java/JavaVirtualMachines",
];

/// A Java runtime with the verifier.
#[derive(Debug)]
pub(super) struct Java {
    program: PathBuf,
    /// The runtime's version: `25.0.3`.
    pub(super) version: String,
}

impl Java {
    /// Finds a runtime: the one in `JAVA_HOME`, otherwise the one of `java` on the path, otherwise
    /// the newest in the usual folders.
    pub(super) fn find() -> Option<Java> {
        let asked = env::var_os("JAVA_HOME").map(PathBuf::from);
        let path = env::var_os("PATH").unwrap_or_default();
        let on_path = env::split_paths(&path).find_map(|folder| {
            let program = fs::canonicalize(folder.join("java")).ok()?;
            Some(program.parent()?.parent()?.to_owned())
        });
        let first = asked.into_iter().chain(on_path);
        let usual = || {
            let own = env::home_dir().map(|home| home.join(".sdkman/candidates/java"));
            let folders = PLACES.map(PathBuf::from).into_iter().chain(own);
            let homes = folders.flat_map(|folder| {
                let found = fs::read_dir(folder).into_iter().flatten().flatten();
                found.map(|entry| entry.path())
            });
            let homes = homes.flat_map(|home| [home.join("Contents/Home"), home]);
            homes
                .filter_map(|home| Java::at(&home))
                .max_by_key(|(feature, java)| (*feature, java.program.clone()))
        };
        let found = first.filter_map(|home| Java::at(&home)).next();
        found.or_else(usual).map(|(_, java)| java)
    }

    fn at(home: &Path) -> Option<(u32, Java)> {
        let program = home.join("bin/java");
        let release = fs::read_to_string(home.join("release")).ok()?;
        let mut lines = release.lines();
        let version = lines.find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
        let version = version.trim().trim_matches('"').to_owned();
        let feature = version.split(['.', '-', '+']).next()?.parse().ok()?;
        let is_fit = feature >= FIRST && program.is_file();
        is_fit.then_some((feature, Java { program, version }))
    }
}

/// A JVM that verifies the classes that are sent to it.
pub(super) struct Judge {
    process: Child,
    to: Option<BufWriter<ChildStdin>>,
    lines: Option<JoinHandle<io::Result<Vec<String>>>>,
    errors: fs::File,
    names: Vec<String>,
    _program: TempDir,
}

/// The results of the verifier.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    pub(super) judged: u64,
    /// The number of classes of versions below 50, which the verifier cannot check.
    pub(super) below_50: u64,
    /// Faults of rewritten classes that the originals do not have.
    pub(super) faults: Vec<String>,
}

impl Judge {
    /// Starts the JVM with `threads` verifying threads. `superclasses` has the superclass of each
    /// class that code may name.
    pub(super) fn start(
        java: &Java,
        superclasses: &BTreeMap<String, Option<String>>,
        threads: usize,
    ) -> Result<Judge> {
        let program = tempfile::tempdir()?;
        for (name, class) in loadhook_tracker::VERIFY_CLASSES {
            let file = program.path().join(format!("{name}.class"));
            fs::create_dir_all(file.parent().unwrap_or(program.path()))?;
            fs::write(file, class)?;
        }
        let errors = tempfile::tempfile()?;
        let mut command = Command::new(&java.program);
        // Options in the environment are meant for the user's programs, not for this
        // JVM.
        for variable in ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"] {
            command.env_remove(variable);
        }
        command
            .args(["-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xmx1g", "-cp"])
            .arg(program.path())
            .arg("loadhook.VerifyClasses")
            .arg(threads.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors.try_clone()?)
            // A process group of its own keeps an interrupt typed at the terminal from the JVM.
            .process_group(0);
        let name = || java.program.display().to_string();
        let mut process = command.spawn().with_context(name)?;
        let from = process
            .stdout
            .take()
            .context("the process has no standard output")?;
        let to = process
            .stdin
            .take()
            .context("the process has no standard input")?;
        let lines = thread::spawn(|| BufReader::new(from).lines().collect());
        let mut judge = Judge {
            process,
            to: Some(BufWriter::with_capacity(1 << 16, to)),
            lines: Some(lines),
            errors,
            names: Vec::new(),
            _program: program,
        };
        let told = judge.tell(superclasses);
        judge.sent(told)?;
        Ok(judge)
    }

    fn tell(&mut self, superclasses: &BTreeMap<String, Option<String>>) -> io::Result<()> {
        let to = self.to()?;
        to.write_all(&(superclasses.len() as u32).to_be_bytes())?;
        for (name, superclass) in superclasses {
            for name in [name.as_str(), superclass.as_deref().unwrap_or_default()] {
                to.write_all(&(name.len() as u16).to_be_bytes())?;
                to.write_all(name.as_bytes())?;
            }
        }
        Ok(())
    }

    /// Sends a class to the verifier.
    pub(super) fn class(&mut self, changed: &Changed<'_>) -> Result<()> {
        let number = self.names.len() as u32;
        self.names.push(changed.name.to_owned());
        let sent = self.send(number, changed);
        self.sent(sent)
    }

    fn send(&mut self, number: u32, changed: &Changed<'_>) -> io::Result<()> {
        let to = self.to()?;
        to.write_all(&[1])?;
        to.write_all(&number.to_be_bytes())?;
        for bytes in [changed.before.unwrap_or_default(), changed.after] {
            to.write_all(&(bytes.len() as u32).to_be_bytes())?;
            to.write_all(bytes)?;
        }
        Ok(())
    }

    fn to(&mut self) -> io::Result<&mut BufWriter<ChildStdin>> {
        self.to.as_mut().ok_or(io::ErrorKind::BrokenPipe.into())
    }

    /// Replaces a failure to send by the reason why the JVM ended.
    fn sent(&mut self, sent: io::Result<()>) -> Result<()> {
        match sent {
            Ok(()) => Ok(()),
            Err(_) => Err(self.failure()),
        }
    }

    fn failure(&mut self) -> anyhow::Error {
        drop(self.to.take());
        let status = self.process.wait();
        let mut said = String::new();
        let _ = self.errors.rewind();
        let _ = self.errors.read_to_string(&mut said);
        let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
        anyhow!("the JVM of --verify ended with {status}: {}", said.trim())
    }

    /// Waits for the results of all classes.
    pub(super) fn finish(mut self) -> Result<Verdict> {
        let ended = self
            .to()
            .and_then(|to| to.write_all(&[0]).and_then(|()| to.flush()));
        self.sent(ended)?;
        let lines = self.lines.take().map(JoinHandle::join);
        let Some(Ok(lines)) = lines else {
            return Err(self.failure());
        };
        let mut lines = lines?;
        let Some((judged, below_50)) = lines.pop().as_deref().and_then(counts) else {
            return Err(self.failure());
        };
        let mut faults = Vec::new();
        for line in lines {
            let known = line.split_once('\t').and_then(|(number, message)| {
                let name = self.names.get(number.parse::<usize>().ok()?)?;
                Some(format!("{name}: {message}"))
            });
            match known {
                Some(fault) => faults.push(fault),
                None => bail!("unexpected output of the JVM of --verify: {line}"),
            }
        }
        faults.sort();
        Ok(Verdict {
            judged,
            below_50,
            faults,
        })
    }
}

/// Reads the numbers of checked and of too old classes in the last line.
fn counts(line: &str) -> Option<(u64, u64)> {
    let (judged, below_50) = line.strip_prefix("done\t")?.split_once('\t')?;
    Some((judged.parse().ok()?, below_50.parse().ok()?))
}

impl Drop for Judge {
    fn drop(&mut self) {
        // If there was no error, the process has already ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use loadhook_rewrite::{Everything, Options, Outcome, Rewriter};
    use loadhook_testkit::jdk::Jdk;

    use super::*;

    const GREETER: &[u8] = include_bytes!("../../../rewrite/doc/Greeter.class");

    fn java() -> Java {
        let home = Jdk::find(25).expect("JDK 25 is installed").home;
        Java::at(&home).expect("this JDK has the verifier").1
    }

    fn rewritten(class: &[u8]) -> Vec<u8> {
        let mut rewriter = Rewriter::new(Options::default());
        let outcome = rewriter.rewrite(class, &mut Everything::all(0), |len| Some(vec![0; len]));
        match outcome.expect("the bytes are a class") {
            Outcome::Rewritten(class) => class,
            Outcome::Unchanged => panic!("the class has methods, so it should have been rewritten"),
        }
    }

    /// Makes `greet` return an int instead of a string. The structure of the class
    /// stays valid.
    fn broken(class: &[u8]) -> Vec<u8> {
        let mut class = class.to_vec();
        // invokevirtual, areturn
        let place = class
            .windows(4)
            .position(|code| code[0] == 0xb6 && code[3] == 0xb0);
        class[place.expect("greet() ends with these instructions") + 3] = 0xac;
        class
    }

    fn judged(pairs: &[Changed<'_>]) -> Verdict {
        let mut judge = Judge::start(&java(), &BTreeMap::new(), 2).expect("the JVM starts");
        for changed in pairs {
            judge.class(changed).expect("the JVM reads the class");
        }
        judge.finish().expect("the verifier answers")
    }

    fn pair<'a>(name: &'a str, before: Option<&'a [u8]>, after: &'a [u8]) -> Changed<'a> {
        Changed {
            name,
            before,
            after,
        }
    }

    #[test]
    fn faults_are_found_unless_they_were_there() {
        let (good, bad) = (rewritten(GREETER), broken(GREETER));
        let bad_before = rewritten(&bad);
        let mut old = GREETER.to_vec();
        old[7] = 49;
        let verdict = judged(&[
            pair("good", Some(GREETER), &good),
            pair("bad", Some(GREETER), &bad),
            pair("bad before", Some(&bad), &bad_before),
            pair("new", None, &bad),
            pair("old", Some(&old), &old),
        ]);
        assert_eq!((verdict.judged, verdict.below_50), (4, 1));
        let [first, second] = &verdict.faults[..] else {
            panic!("two faults expected: {:?}", verdict.faults);
        };
        assert!(
            first.starts_with("bad: ") && second.starts_with("new: "),
            "{:?}",
            verdict.faults
        );
        assert!(first.contains("greet"), "{first}");
    }

    /// The fault of the original is in another method than the new fault, so it does not hide the
    /// new one.
    #[test]
    fn a_second_fault_is_found() {
        let bad = broken(GREETER);
        let mut worse = rewritten(&bad);
        // aload_0, getfield, areturn of name()
        let place = worse.windows(5).position(|code| code[..2] == [0x2a, 0xb4]);
        let end = place.expect("name() begins with these instructions");
        let at = worse[end..]
            .iter()
            .position(|code| *code == 0xb0)
            .expect("the method returns");
        worse[end + at] = 0xac;
        let verdict = judged(&[pair("worse", Some(&bad), &worse)]);
        assert_eq!(verdict.faults.len(), 1, "{verdict:?}");
        assert!(!verdict.faults[0].contains("greet"), "{verdict:?}");
    }

    #[test]
    fn a_jvm_that_ends_says_why() {
        let old = Jdk::find(17)
            .expect("JDK 17 is installed")
            .home
            .join("bin/java");
        let java = Java {
            program: old,
            version: "17".to_owned(),
        };
        let failure = Judge::start(&java, &BTreeMap::new(), 1).and_then(Judge::finish);
        let failure = failure
            .map(|_| ())
            .expect_err("this JDK has no verifier")
            .to_string();
        assert!(failure.contains("has no java.lang.classfile"), "{failure}");
    }

    #[test]
    fn only_jdks_with_the_verifier_will_do() {
        let home = tempfile::tempdir().expect("a temporary folder can be created");
        fs::create_dir(home.path().join("bin")).expect("the test folder can be created");
        fs::write(home.path().join("bin/java"), "").expect("the test file can be written");
        for (version, feature) in [
            ("25.0.3", Some(25)),
            ("24", Some(24)),
            ("26-ea", Some(26)),
            ("23.0.2", None),
            ("1.8.0_402", None),
            ("x", None),
        ] {
            let release = format!("IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"{version}\"\n");
            fs::write(home.path().join("release"), release).expect("the test file can be written");
            let found = Java::at(home.path()).map(|(feature, _)| feature);
            assert_eq!(found, feature, "{version}");
        }
    }
}
