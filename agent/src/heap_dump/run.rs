//! The dump of a heap, from the request to the answer.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::SystemTime;

use loadhook_hprof::{Header, LoadClass, Writer};
use loadhook_settings::HeapDumpRequest;
use loadhook_settings::heap_dump::{ANSWER_SUFFIX, DumpOutcome, TagMemory};

use super::cancellable::Cancellable;
use super::classes::Classes;
use super::dump::{Dump, DumpSummary};
use super::fault::{ATTEMPTS, Fault};
use super::tags::{ID_SIZE, Ids, NAMES, class_serial, id_of_class};
use super::threads::Threads;
use crate::jvm::heap_walk::Panicked;
use crate::jvm::jni::Jni;
use crate::jvm::jvmti::Jvmti;
use crate::jvm::sys::{Capabilities, capability};

/// Bytes of the JVM's memory that a tag takes. Measured on JDK 17 and 25: 65 to 85.
pub(super) const TAG_BYTES: u64 = 80;

/// Dumps the heap and writes the answer. Returns whether there is a dump. `environment` makes a JVM TI environment for
/// each attempt.
pub(crate) fn run(
    request: &HeapDumpRequest,
    jni: Jni<'_>,
    environment: impl Fn() -> Option<Jvmti>,
) -> bool {
    // An error means that the answer cannot be written. Either the command has given up and removed the folder, or the
    // disk is full, which the command reports. Neither is a matter for the program, so nothing is printed.
    answer(request, jni, environment).unwrap_or(false)
}

fn answer(
    request: &HeapDumpRequest,
    jni: Jni<'_>,
    environment: impl Fn() -> Option<Jvmti>,
) -> io::Result<bool> {
    let name = format!("{}{ANSWER_SUFFIX}", request.file);
    let mut answer = create(Path::new(&name))?;
    let dumped = dump(request, jni, environment, &mut answer);
    let outcome = match &dumped {
        Ok(Some(DumpSummary { cut, .. })) => DumpOutcome::Done { cut: *cut },
        Ok(None) => DumpOutcome::Refused,
        Err(fault) => DumpOutcome::Fault(fault.to_string()),
    };
    writeln!(answer, "{outcome}")?;
    Ok(matches!(dumped, Ok(Some(_))))
}

fn create(file: &Path) -> io::Result<File> {
    File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file)
}

/// A JVM TI environment for one walk. Dropping this disposes the environment.
struct Environment(Jvmti);

impl Environment {
    fn new(environment: impl Fn() -> Option<Jvmti>) -> Result<Environment, Fault> {
        let jvmti = environment().ok_or(Fault::NoJvmti)?;
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

/// Dumps the heap. Returns `None` if the tags would take too much memory.
fn dump(
    request: &HeapDumpRequest,
    jni: Jni<'_>,
    environment: impl Fn() -> Option<Jvmti>,
    answer: &mut impl Write,
) -> Result<Option<DumpSummary>, Fault> {
    // Garbage is collected first, as the JVM's own dumper does.
    Environment::new(&environment)?.0.collect_garbage()?;
    let objects = count_objects(&environment)?;
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
    let file = create(Path::new(&request.file))?;
    // To cancel the dump, the command that requested the dump removes the file.
    let has_name = || file.metadata().is_ok_and(|found| found.nlink() > 0);
    let file = Cancellable {
        file: &file,
        goes_on: &has_name,
    };
    dump_into(file, jni, environment).map(Some)
}

/// Counts the objects in the heap.
pub(super) fn count_objects(environment: impl Fn() -> Option<Jvmti>) -> Result<u64, Fault> {
    let environment = Environment::new(environment)?;
    Ok(environment.0.count_objects()?)
}

/// Dumps the heap into an empty file. `environment` makes a JVM TI environment for each attempt.
pub(super) fn dump_into(
    file: Cancellable<'_>,
    jni: Jni<'_>,
    environment: impl Fn() -> Option<Jvmti>,
) -> Result<DumpSummary, Fault> {
    let mut attempts = ATTEMPTS;
    loop {
        let environment = Environment::new(&environment)?;
        attempts -= 1;
        match walk(environment.0, jni, file) {
            Err(Fault::ClassesChanged) if attempts > 0 => {
                let mut file = file.file;
                file.set_len(0)?;
                file.rewind()?;
            }
            outcome => return outcome,
        }
    }
}

/// Writes a dump during one walk over the heap.
fn walk(jvmti: Jvmti, jni: Jni<'_>, file: Cancellable<'_>) -> Result<DumpSummary, Fault> {
    let classes = Classes::find(jvmti, jni, &file)?;
    let mut out = Writer::new(file, header())?.with_names_from(NAMES);
    for (number, class) in classes.all.iter().enumerate() {
        let name = out.name(&class.name)?;
        out.load_class(&LoadClass {
            serial: class_serial(number),
            class: id_of_class(number),
            name,
        })?;
        for field in &class.fields {
            out.name(&field.name)?;
        }
    }
    let mut ids = Ids::new();
    let threads = Threads::write(jvmti, jni, &classes, &mut ids, &mut out)?;
    file.check()?;
    let mut dump = Dump::new(&classes, &threads, ids, out);
    if let Err(Panicked) = jvmti.follow_references(&mut dump)? {
        return Err(Fault::Panicked);
    }
    let summary = dump.finish()?;
    if classes.are_unprepared(&summary.partial, jvmti, jni)? {
        Ok(summary)
    } else {
        Err(Fault::ClassesChanged)
    }
}

/// Makes the header of a dump, with the present time.
fn header() -> Header {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    Header {
        id_size: ID_SIZE as u32,
        time_ms: since_1970.map_or(0, |time| time.as_millis() as u64),
    }
}
