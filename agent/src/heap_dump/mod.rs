//! A heap dump by JVM TI's own walk, for VMs whose dumper cannot be asked.
//!
//! The agent is attached for it, counts the objects, refuses when their tags
//! would take too much memory, and follows all references from the roots. It
//! has an environment of its own, which goes with its tags at the end. What it
//! has to say it writes line by line beside the dump:
//!
//! ```text
//! counted OBJECTS BYTES LIMIT
//! done CUT      or: refused      or: fault TEXT
//! ```

mod classes;
mod dump;
mod threads;

use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use loadhook_hprof::{Header, LoadClass, Writer};
use loadhook_settings::list;

use self::classes::{Classes, id_of};
use self::dump::{Dump, ID_SIZE, Ids, Written};
use self::threads::Threads;
use crate::jvm::heap_walk::Panicked;
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::{self, Jvmti};
use crate::jvm::sys::{Capabilities, capability};

/// What a tag takes in the VM, in bytes: 65 to 85 were measured on JDK 17 and 25.
const TAG_BYTES: u64 = 80;

/// How often the walk is begun again since a class was loaded before it.
const ATTEMPTS: u32 = 10;

/// What is behind the dump's name in that of the answer.
const ANSWER: &str = ".answer";

/// Why there is no dump.
#[derive(Debug)]
enum Fault {
    /// A class was loaded or unloaded between the look at the classes and the
    /// walk.
    Changed,
    /// The VM does what JVM TI rules out.
    Odd(&'static str),
    Vm(jvmti::Error),
    Io(io::Error),
    /// Told already.
    Panicked,
}

/// The VM gives no more local references.
const NO_REFERENCES: Fault = Fault::Odd("there is no memory for references");

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fault::Changed => write!(
                f,
                "classes are loaded faster than they can be read ({ATTEMPTS} attempts); try again"
            ),
            Fault::Odd(what) => f.write_str(what),
            Fault::Vm(error) => write!(f, "{error}"),
            Fault::Io(error) => write!(f, "{error}"),
            Fault::Panicked => write!(f, "internal error; see the standard error of the program"),
        }
    }
}

impl From<jvmti::Error> for Fault {
    fn from(error: jvmti::Error) -> Self {
        Fault::Vm(error)
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Fault::Io(error)
    }
}

/// What the agent was attached for.
pub(crate) struct Options {
    file: PathBuf,
    /// The most that tags may take, in bytes.
    max_memory: u64,
}

impl Options {
    /// Reads `heap-dump=FILE,max-memory=BYTES`.
    pub(crate) fn read(text: &str) -> Result<Options, String> {
        let mut file = None;
        let mut max_memory = None;
        for item in list::items(text) {
            match item.split_once('=') {
                Some(("heap-dump", name)) => file = Some(list::unescaped(name).into()),
                Some(("max-memory", bytes)) => {
                    let bytes = bytes.parse();
                    max_memory = Some(bytes.map_err(|_| format!("{item}: expected a number"))?);
                }
                _ => {
                    return Err("the agent can be attached to a running JVM for heap dumps only; to profile, start the program with loadhook run".to_owned());
                }
            }
        }
        let file = file.ok_or("heap-dump=FILE is missing")?;
        let max_memory = max_memory.ok_or("max-memory=BYTES is missing")?;
        Ok(Options { file, max_memory })
    }
}

/// Dumps the heap, and answers; whether there is a dump. Each attempt needs an
/// `environment` of its own.
pub(crate) fn run(
    options: &Options,
    jni: Jni<'_>,
    environment: impl Fn() -> Option<Jvmti>,
) -> bool {
    // Who asked has given up meanwhile, and the folder is gone; or the disk is
    // full, which who asked says. Either is none of the program's concern.
    answered(options, jni, environment).unwrap_or(false)
}

fn answered(
    options: &Options,
    jni: Jni<'_>,
    environment: impl Fn() -> Option<Jvmti>,
) -> io::Result<bool> {
    let mut name = options.file.clone().into_os_string();
    name.push(ANSWER);
    let mut answer = create(Path::new(&name))?;
    match dump(options, jni, environment, &mut answer) {
        Ok(Some(written)) => {
            writeln!(answer, "done {}", written.cut)?;
            Ok(true)
        }
        Ok(None) => writeln!(answer, "refused").map(|()| false),
        Err(fault) => writeln!(answer, "fault {fault}").map(|()| false),
    }
}

fn create(file: &Path) -> io::Result<File> {
    File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file)
}

/// An environment of the walk's own.
struct Environment(Jvmti);

impl Environment {
    fn new(environment: impl Fn() -> Option<Jvmti>) -> Result<Environment, Fault> {
        let jvmti = environment().ok_or(Fault::Odd("this JVM has no JVM TI version 11"))?;
        let environment = Environment(jvmti);
        jvmti.add_capabilities(Capabilities::of(&[
            capability::CAN_TAG_OBJECTS,
            capability::CAN_GET_SOURCE_FILE_NAME,
            capability::CAN_GET_LINE_NUMBERS,
        ]))?;
        Ok(environment)
    }
}

impl Drop for Environment {
    fn drop(&mut self) {
        self.0.dispose();
    }
}

fn dump(
    options: &Options,
    jni: Jni<'_>,
    environment: impl Fn() -> Option<Jvmti>,
    answer: &mut impl Write,
) -> Result<Option<Written>, Fault> {
    let first = Environment::new(&environment)?;
    // As the VM's own dumper does.
    first.0.collect_garbage()?;
    let objects = first.0.count_objects()?;
    drop(first);
    let bytes = objects * TAG_BYTES;
    let limit = options.max_memory;
    writeln!(answer, "counted {objects} {bytes} {limit}")?;
    if bytes > limit {
        return Ok(None);
    }
    let mut file = create(&options.file)?;
    let mut attempts = ATTEMPTS;
    loop {
        let environment = Environment::new(&environment)?;
        attempts -= 1;
        match walk(environment.0, jni, &file) {
            Err(Fault::Changed) if attempts > 0 => {
                file.set_len(0)?;
                file.rewind()?;
            }
            outcome => return outcome.map(Some),
        }
    }
}

fn walk(jvmti: Jvmti, jni: Jni<'_>, file: &File) -> Result<Written, Fault> {
    let classes = Classes::find(jvmti, jni, &Wanted(file))?;
    let mut out = Writer::new(Wanted(file), header())?;
    for (number, class) in classes.all.iter().enumerate() {
        let name = out.name(&class.name)?;
        out.load_class(&LoadClass {
            serial: number as u32 + 1,
            class: id_of(number),
            name,
        })?;
        for field in &class.fields {
            out.name(&field.name)?;
        }
    }
    let mut ids = Ids::new();
    let threads = Threads::write(jvmti, jni, &classes, &mut ids, &mut out)?;
    let mut dump = Dump::new(&classes, &threads, ids, out);
    if let Err(Panicked) = jvmti.follow_references(&mut dump)? {
        return Err(Fault::Panicked);
    }
    let written = dump.finish()?;
    match classes.are_unprepared(&written.partial, jvmti, jni)? {
        true => Ok(written),
        false => Err(Fault::Changed),
    }
}

/// The header of a dump that is made now.
fn header() -> Header {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    Header {
        id_size: ID_SIZE as u32,
        time_ms: since_1970.map_or(0, |time| time.as_millis() as u64),
    }
}

/// Writes as long as the file has a name: who gives up takes it away.
struct Wanted<'f>(&'f File);

impl Wanted<'_> {
    fn check(&self) -> io::Result<()> {
        match self.0.metadata()?.nlink() {
            0 => Err(io::Error::other("given up")),
            _ => Ok(()),
        }
    }
}

impl Write for Wanted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.check()?;
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_name_the_dump() {
        let read = |text: &str| {
            let options = Options::read(text)?;
            Ok::<_, String>((options.file, options.max_memory))
        };
        for (text, file, max_memory) in [
            ("heap-dump=/a/b,max-memory=0", "/a/b", 0),
            (r"heap-dump=/a\,b=c,max-memory=17", "/a,b=c", 17),
        ] {
            assert_eq!(read(text), Ok((file.into(), max_memory)));
        }
        for (text, said) in [
            ("", "only"),
            ("max-memory=1", "heap-dump=FILE"),
            ("heap-dump=a", "max-memory=BYTES"),
            (
                "heap-dump=a,max-memory=-1",
                "max-memory=-1: expected a number",
            ),
            ("heap-dump=a,alloc=exact", "only"),
        ] {
            let error = read(text).expect_err("wrong");
            assert!(error.contains(said), "{error}");
        }
    }
}
