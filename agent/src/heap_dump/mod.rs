//! A heap dump by JVM TI's own walk, for VMs whose dumper cannot be asked.
//!
//! The agent is attached for it, counts the objects, refuses when their tags
//! would take too much memory, and follows all references from the roots. It
//! has an environment of its own, which goes with its tags at the end. What it
//! has to say it writes line by line beside the dump, as
//! [`loadhook_settings::heap_dump`] describes.

mod classes;
mod dump;
mod threads;

use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::SystemTime;

use loadhook_hprof::{Header, LoadClass, Writer};
use loadhook_settings::HeapDumpRequest;
use loadhook_settings::heap_dump::{ANSWER_SUFFIX, DumpOutcome, TagMemory};

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

/// Dumps the heap, and answers; whether there is a dump. Each attempt needs an
/// `environment` of its own.
pub(crate) fn run(
    request: &HeapDumpRequest,
    jni: Jni<'_>,
    environment: impl Fn() -> Option<Jvmti>,
) -> bool {
    // Who asked has given up meanwhile, and the folder is gone; or the disk is
    // full, which who asked says. Either is none of the program's concern.
    answered(request, jni, environment).unwrap_or(false)
}

fn answered(
    request: &HeapDumpRequest,
    jni: Jni<'_>,
    environment: impl Fn() -> Option<Jvmti>,
) -> io::Result<bool> {
    let name = format!("{}{ANSWER_SUFFIX}", request.file);
    let mut answer = create(Path::new(&name))?;
    match dump(request, jni, environment, &mut answer) {
        Ok(Some(written)) => {
            let cut = written.cut;
            writeln!(answer, "{}", DumpOutcome::Done { cut })?;
            Ok(true)
        }
        Ok(None) => writeln!(answer, "{}", DumpOutcome::Refused).map(|()| false),
        Err(fault) => {
            let fault = DumpOutcome::Fault(fault.to_string());
            writeln!(answer, "{fault}").map(|()| false)
        }
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
    request: &HeapDumpRequest,
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
    let limit = request.max_memory;
    let counted = TagMemory {
        objects,
        bytes,
        limit,
    };
    writeln!(answer, "{counted}")?;
    if bytes > limit {
        return Ok(None);
    }
    let mut file = create(Path::new(&request.file))?;
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
