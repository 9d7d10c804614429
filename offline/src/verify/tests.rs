//! Tests that the verifier finds faults of each kind: outputs are made correctly, then damaged.

use std::fs;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use loadhook_settings::Filter;
use tempfile::TempDir;
use zip::CompressionMethod::{Deflated, Stored};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use loadhook_rewrite::constant_pool::Constant;
use loadhook_rewrite::{ClassFile, CpIndex};

use super::{Verifier, class};
use crate::module_info::{self, Needs, TrackerPlace};
use crate::zip::{Archive, Output, Packed};
use crate::{Detail, Offline, Plan, Progress, find};

const GREETER: &[u8] = include_bytes!("../../../rewrite/doc/Greeter.class");

fn zipped(entries: &[(&str, &[u8])], comment: &str) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in entries {
        let method = if name.ends_with(".class") {
            Deflated
        } else {
            Stored
        };
        let options = SimpleFileOptions::default().compression_method(method);
        zip.start_file(*name, options)
            .expect("the archive has room");
        zip.write_all(content)
            .expect("writing to memory cannot fail");
    }
    zip.set_comment(comment).expect("the comment is short");
    zip.finish()
        .expect("writing to memory cannot fail")
        .into_inner()
}

/// An archive and the output made from it.
struct Case {
    folder: TempDir,
    plan: Plan,
}

impl Case {
    fn new() -> Case {
        let inner = zipped(&[("Greeter.class", GREETER), ("deep", b"deep")], "");
        let entries = [
            ("text", b"some text".as_slice()),
            ("Greeter.class", GREETER),
            ("lib/inner.jar", &inner),
            ("last", b"the end"),
        ];
        let case = Case {
            folder: tempfile::tempdir().expect("a temporary folder can be created"),
            plan: Plan::new(Filter::new()),
        };
        fs::write(case.path("in.jar"), zipped(&entries, "a comment"))
            .expect("the test file can be written");
        let progress = Progress::default();
        let mut offline = Offline::new(&case.plan, Detail::default(), &progress);
        let out = case.path("out.jar");
        let done = offline.archive_file("in.jar", &case.path("in.jar"), Some(&out));
        done.expect("the input can be rewritten");
        case
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn out(&self) -> Vec<u8> {
        fs::read(self.path("out.jar")).expect("the test file can be read")
    }

    /// Returns the faults that the verifier finds in `out`.
    fn faults(&self, out: &[u8]) -> Vec<String> {
        fs::write(self.path("bad.jar"), out).expect("the test file can be written");
        let progress = Progress::default();
        let mut verifier = Verifier::new(&self.plan, &progress);
        let checked = verifier.archive_file("in.jar", &self.path("in.jar"), &self.path("bad.jar"));
        checked.expect("input and output are readable");
        verifier.checked().faults.clone()
    }

    #[track_caller]
    fn finds(&self, out: &[u8], fault: &str) {
        let faults = self.faults(out);
        let is_found = faults.iter().any(|found| found.starts_with(fault));
        assert!(
            is_found,
            "the fault `{fault}` should be found; found: {faults:?}"
        );
    }
}

enum Edit {
    Keep,
    Drop,
    Replace(Vec<u8>),
}

/// Returns a well-formed archive with changed contents.
fn edited(bytes: &[u8], add: Option<&str>, edit: impl Fn(&str, Vec<u8>) -> Edit) -> Vec<u8> {
    let archive = Archive::open(bytes, bytes.len() as u64).expect("the bytes are an archive");
    let mut out = Vec::new();
    let mut output = Output::new(&mut out, &archive).expect("writing to memory cannot fail");
    for (at, entry) in archive.entries().iter().enumerate() {
        let name = String::from_utf8_lossy(archive.name(entry)).into_owned();
        let content = archive
            .read(entry, 1 << 20)
            .expect("the entry is undamaged");
        let done = match edit(&name, content) {
            Edit::Keep => output.copy(&archive, at),
            Edit::Drop => Ok(()),
            Edit::Replace(content) => {
                let packed = Packed::new(&content, entry.method());
                output.replace(&archive, at, &packed)
            }
        };
        done.expect("writing to memory cannot fail");
    }
    if let Some(name) = add {
        output
            .add(name, b"x")
            .expect("writing to memory cannot fail");
    }
    output
        .finish(&archive)
        .expect("writing to memory cannot fail");
    out
}

/// Returns the archive with another content of one entry.
fn with(bytes: &[u8], name: &str, change: impl Fn(Vec<u8>) -> Vec<u8>) -> Vec<u8> {
    edited(bytes, None, |entry, content| {
        if entry == name {
            Edit::Replace(change(content))
        } else {
            Edit::Keep
        }
    })
}

fn without(bytes: &[u8], name: &str) -> Vec<u8> {
    edited(bytes, None, |entry, _| {
        if entry == name {
            Edit::Drop
        } else {
            Edit::Keep
        }
    })
}

/// Changes the byte that is `at` bytes after the last occurrence of `what`.
fn patched(mut bytes: Vec<u8>, what: &[u8], at: usize) -> Vec<u8> {
    let place = bytes.windows(what.len()).rposition(|piece| piece == what);
    bytes[place.expect("the bytes occur") + at] ^= 0xff;
    bytes
}

#[test]
fn correct_outputs_have_no_faults() {
    let case = Case::new();
    assert_eq!(case.faults(&case.out()), [""; 0]);
    let progress = Progress::default();
    let mut verifier = Verifier::new(&case.plan, &progress);
    let (from, to) = (case.path("in.jar"), case.path("out.jar"));
    verifier
        .archive_file("in.jar", &from, &to)
        .expect("input and output are readable");
    let checked = verifier.checked();
    // Three texts are untouched. Both classes, and the files of two trackers and parts, are
    // changed.
    assert_eq!(checked.untouched, 3);
    let tracker = loadhook_tracker::CLASSES.len() + loadhook_tracker::OFFLINE_CLASSES.len();
    assert_eq!(checked.changed, 2 * (1 + tracker as u64));
    let superclass = checked.superclasses.get("Greeter").cloned().flatten();
    assert_eq!(superclass.as_deref(), Some("java/lang/Object"));
}

#[test]
fn entries_are_as_they_were() {
    let case = Case::new();
    let out = case.out();
    case.finds(&without(&out, "text"), "in.jar!/text: it is missing");
    let other = with(&out, "text", |_| b"other".to_vec());
    case.finds(&other, "in.jar!/text: its content changed");
    let added = edited(&out, Some("evil"), |_, _| Edit::Keep);
    case.finds(&added, "in.jar!/evil: it is not in the input");
    let damaged = patched(out.clone(), b"some text", 3);
    case.finds(&damaged, "in.jar!/text: damaged");
    // Damages the attributes in the entry's directory record.
    let name = b"last";
    let records = patched(out.clone(), name, 0);
    assert!(!case.faults(&records).is_empty());
    let time = out.len()
        - out
            .windows(4)
            .rev()
            .position(|p| p == name)
            .expect("the name occurs")
        - 4;
    let mut records = out.clone();
    records[time - 46 + 12] ^= 1;
    case.finds(&records, "in.jar!/last: its zip records");
    let comment = patched(out.clone(), b"a comment", 0);
    case.finds(&comment, "in.jar: the bytes before its entries");
    case.finds(&out[..out.len() / 2], "in.jar: not an archive");
    case.finds(b"", "in.jar: not an archive");
    let inside = with(&out, "lib/inner.jar", |inner| without(&inner, "deep"));
    case.finds(&inside, "in.jar!/lib/inner.jar!/deep: it is missing");
    let inside = with(&out, "lib/inner.jar", |_| b"no archive".to_vec());
    case.finds(&inside, "in.jar!/lib/inner.jar: not an archive");
}

#[test]
fn classes_are_whole_and_the_old_ones() {
    let case = Case::new();
    let out = case.out();
    let greeter = |change: &dyn Fn(Vec<u8>) -> Vec<u8>| with(&out, "Greeter.class", change);
    let name = "in.jar!/Greeter.class";
    let cut = greeter(&|mut class| {
        class.pop();
        class
    });
    case.finds(&cut, &format!("{name}: "));
    let constant = greeter(&|class| patched(class, b"Hello, ", 1));
    case.finds(&constant, &format!("{name}: its version or constants"));
    let version = greeter(&|mut class| {
        class[7] += 1;
        class
    });
    case.finds(&version, &format!("{name}: its version or constants"));
    // Turns `aload_0` (0x2a), which precedes the call of name(), into the undefined opcode 0xd5.
    let opcode = greeter(&|class| patched(class, &[0x2a, 0xb6], 0));
    case.finds(&opcode, &format!("{name}: method "));
    // Changes the number of the class's attributes.
    let pool = loadhook_rewrite::ClassFile::parse(GREETER).expect("the bytes are a class");
    let mut indexes = pool.pool().indexes();
    let name_index = indexes.find(|index| pool.pool().utf8(*index).is_ok());
    let name_index = name_index.expect("the attribute has a name").0;
    let mut other = GREETER[..GREETER.len() - 1].to_vec();
    other.extend([1, 0, name_index as u8, 0, 0, 0, 0]);
    let attribute = greeter(&|_| other.clone());
    case.finds(&attribute, &format!("{name}: its attributes"));
}

/// Returns the description of a module whose list of packages has one package.
fn description() -> Vec<u8> {
    let mut bytes = module_info::of_tracker("m", "p");
    let (end, count) = {
        let class = ClassFile::parse(&bytes).expect("the class file is valid");
        (class.pool().end(), class.pool().count())
    };
    let class = ClassFile::parse(&bytes).expect("the class file is valid");
    let is_package =
        |index: &CpIndex| matches!(class.pool().get(*index), Ok(Constant::Package { .. }));
    let package = class
        .pool()
        .indexes()
        .find(is_package)
        .expect("the module exports a package");
    // Skips flags and names, and the counts of interfaces, fields and methods, which are 0.
    bytes[end + 13] += 1;
    bytes.extend(count.to_be_bytes());
    bytes.extend([0, 0, 0, 4, 0, 1]);
    bytes.extend(package.to_be_bytes());
    let name = b"ModulePackages";
    bytes.splice(end..end, [&[1, 0, name.len() as u8], &name[..]].concat());
    bytes[8..10].copy_from_slice(&(count + 1).to_be_bytes());
    bytes
}

#[test]
fn descriptions_say_what_they_said_and_what_is_added() {
    let before = description();
    let with = |package, tracker| {
        let changed = module_info::changed(&before, Some(Needs { package, tracker }));
        changed.expect("the description can be changed")
    };
    let fault = |before: &[u8], after: &[u8]| class::fault(Some(before), after).unwrap_or_default();
    let usual = TrackerPlace::Module("loadhook.tracker");
    for tracker in [TrackerPlace::Package, usual] {
        let once = with("loadhook/a1", tracker);
        assert_eq!(fault(&before, &once), "");
        // The last bytes are the packages, the new one first.
        let len = once.len();
        let mut twice = once.clone();
        twice.copy_within(len - 2.., len - 4);
        assert!(
            fault(&before, &twice).contains("its packages are not the old ones"),
            "{tracker:?}"
        );
        let other = fault(&before, &with("p/a1", tracker));
        assert_eq!(
            other,
            "the added requirement or export does not give the module access to the tracker"
        );
        assert_eq!(fault(&once, &once), "");
        let again = module_info::changed(
            &once,
            Some(Needs {
                package: "loadhook/a2",
                tracker,
            }),
        );
        assert_eq!(
            fault(&once, &again.expect("the description can be changed")),
            ""
        );
    }
    let other = fault(&before, &with("loadhook/a1", TrackerPlace::Module("other")));
    assert_eq!(
        other,
        "the added requirement or export does not give the module access to the tracker"
    );

    // A description with its first `requires` twice, which no JVM accepts.
    let once = with("loadhook/a1", usual);
    let class = ClassFile::parse(&once).expect("the class file is valid");
    let table = class
        .attributes()
        .next()
        .expect("the class has an attribute")
        .expect("the attribute is complete")
        .offset
        + 12;
    let mut twice = once.clone();
    let row = once[table + 2..table + 8].to_vec();
    twice.splice(table + 2..table + 2, row);
    twice[table + 1] += 1;
    // Adjust the attribute's length.
    twice[table - 7] += 6;
    assert!(fault(&once, &twice).contains("its requires are not the old ones"));
    assert!(fault(&before, &twice).contains("its requires are not the old ones"));
}

#[test]
fn folders_are_as_they_were() {
    let case = Case::new();
    let from = case.path("from");
    fs::create_dir_all(from.join("sub")).expect("the test folder can be created");
    fs::write(from.join("Greeter.class"), GREETER).expect("the test file can be written");
    fs::write(from.join("sub/text"), "text").expect("the test file can be written");
    fs::copy(case.path("in.jar"), from.join("sub/in.jar")).expect("the test file can be copied");
    let progress = Progress::default();
    let files = find(&from, &mut |_| {}).expect("the folder is readable");
    let mut offline = Offline::new(&case.plan, Detail::default(), &progress);
    let new = offline.folder(&from, &files, Some(&case.path("to")));
    let new = new
        .expect("the input can be rewritten")
        .expect("the output has a path");
    let to = new.path();
    let verified = || {
        let mut verifier = Verifier::new(&case.plan, &progress);
        let verified = verifier.folder(&from, &files, to);
        verified.map(|()| verifier.checked().clone())
    };
    let finds = |fault: &str| {
        let verifier = verified().expect("input and output are readable");
        let faults = &verifier.faults;
        let is_found = faults.iter().any(|found| found.starts_with(fault));
        assert!(
            is_found || fault.is_empty() && faults.is_empty(),
            "{fault}: {faults:?}"
        );
        assert!(verifier.outdated.is_empty());
    };
    finds("");
    let change = |path: &str, content: Option<&[u8]>, fault: &str| {
        let path: &Path = &to.join(path);
        let before = fs::read(path).ok();
        match content {
            Some(content) => fs::write(path, content).expect("the test file can be written"),
            None => fs::remove_file(path).expect("the test file can be removed"),
        }
        finds(fault);
        match before {
            Some(before) => fs::write(path, before).expect("the test file can be written"),
            None => fs::remove_file(path).expect("the test file can be removed"),
        }
        finds("");
    };
    change("sub/text", Some(b"other"), "sub/text: its content changed");
    change("sub/text", None, "sub/text: it is missing");
    change("new", Some(b"x"), "new: it is not in the input");
    change("Greeter.class", Some(b"x"), "Greeter.class: ");
    change("sub/in.jar", Some(b"x"), "sub/in.jar: not an archive");

    // Changes that other programs make to the input are no faults.
    fs::write(from.join("sub/later"), "later").expect("the test file can be written");
    finds("");
    fs::write(from.join("sub/text"), "more text").expect("the test file can be written");
    fs::remove_file(from.join("sub/in.jar")).expect("the test file can be removed");
    let found = verified().expect("input and output are readable");
    assert!(found.faults.is_empty(), "{:?}", found.faults);
    assert_eq!(found.outdated, ["sub/in.jar"]);
}
