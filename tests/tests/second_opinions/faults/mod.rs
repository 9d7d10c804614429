//! The known faults of the crates `cafebabe` and `classfile-parser`, each with a class that shows
//! the fault. A test checks the fault, the output of `javap` for the class, and that Loadhook reads
//! the class as `javap` does. HotSpot refuses each class that Loadhook refuses, even if `javap`
//! accepts it.
//!
//! The classes are in `tests/second_opinions`. With `BLESS=1`, the test writes them again.

mod classes;

use anyhow::{Context, Result, anyhow, bail, ensure};
use classfile_parser::attribute_info::{code_attribute_parser, stack_map_table_attribute_parser};
use loadhook_rewrite::constant_pool::Constant;
use loadhook_rewrite::{ClassFile, CpIndex};
use loadhook_testclasses::mutate::class::{Class, Info, Member};
use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::pairs::Runner;
use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use crate::{javap, javap_text};

/// A known fault of `cafebabe` or `classfile-parser`.
struct Fault {
    /// The name of the class file in `tests/second_opinions`.
    fixture: &'static str,
    make: fn() -> Vec<u8>,
    /// The name of the crate, and a description of the fault.
    what: &'static str,
    /// Fails if the crate no longer has the fault.
    shows: fn(&[u8]) -> Result<()>,
    /// Loadhook's own treatment of the class.
    ours: Ours,
    /// Lines that `javap` prints for the class, among others.
    javap: &'static [&'static str],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ours {
    /// Loadhook reads the whole class as `javap` prints it.
    Agrees,
    /// Loadhook reads the class but, like `javap` or HotSpot, refuses code of the class.
    ReadsClass,
    /// Loadhook refuses the class.
    Refuses,
}

const FAULTS: &[Fault] = &[
    Fault {
        fixture: "DynamicArgument",
        make: classes::dynamic_argument,
        what: "cafebabe refuses a dynamic constant as argument of a bootstrap method (JVMS §4.7.23 allows it)",
        shows: |class| cafebabe_refuses(class, "Unexpected constant pool reference type"),
        ours: Ours::Agrees,
        javap: &[
            "REF_invokeStatic java/lang/invoke/ConstantBootstraps.nullConstant",
            "#0:inner:Ljava/lang/Object;",
        ],
    },
    Fault {
        fixture: "DynamicArgument",
        make: classes::dynamic_argument,
        what: "classfile-parser does not know CONSTANT_Dynamic (tag 17)",
        shows: nom_refuses,
        ours: Ours::Agrees,
        javap: &["= Dynamic "],
    },
    Fault {
        fixture: "module-info",
        make: classes::module_info,
        what: "classfile-parser does not know CONSTANT_Module and CONSTANT_Package (tags 19, 20)",
        shows: nom_refuses,
        ours: Ours::Agrees,
        javap: &[
            "module demo@1.0",
            "flags: (0x8000) ACC_MODULE",
            "= Module ",
            "= Package ",
        ],
    },
    Fault {
        fixture: "LoneSurrogate",
        make: classes::lone_surrogate,
        what: "cafebabe refuses names that are not valid UTF-16, which JVMS §4.2.2 allows",
        shows: |class| cafebabe_refuses(class, ""),
        ours: Ours::Agrees,
        javap: &["descriptor: I", "fields: 1"],
    },
    Fault {
        fixture: "UnknownFlags",
        make: classes::unknown_flags,
        what: "both drop flags without a name, which JVMS §4.6 allows to be set",
        shows: |class| {
            let theirs = cafebabe::parse_class(class).map_err(|it| anyhow!("{it}"))?;
            let flags = theirs
                .methods
                .first()
                .context("the class has no method")?
                .access_flags
                .bits();
            ensure!(
                flags == 0x0409,
                "flags 0x0409 expected; cafebabe reads {flags:#x}"
            );
            let (_, theirs) = classfile_parser::class_parser(class)
                .map_err(|_| anyhow!("the crate refuses the class"))?;
            let flags = theirs
                .methods
                .first()
                .context("the class has no method")?
                .access_flags
                .bits();
            ensure!(
                flags == 0x0409,
                "flags 0x0409 expected; classfile-parser reads {flags:#x}"
            );
            Ok(())
        },
        ours: Ours::Agrees,
        javap: &["flags: (0xa409)"],
    },
    Fault {
        fixture: "WholeRangeSwitch",
        make: classes::whole_range_switch,
        what: "cafebabe computes `high - low + 1` in 32 bits: it panics, or reads a switch without cases; so does javap",
        shows: |class| {
            let class = class.to_vec();
            match catch_unwind(move || cafebabe::parse_class(&class).map(drop)) {
                Err(_) | Ok(Ok(())) => Ok(()),
                Ok(Err(error)) => bail!("the crate refuses the class: {error}"),
            }
        },
        ours: Ours::ReadsClass,
        javap: &[
            "1: tableswitch   { // -2147483648 to 2147483647",
            "default: 16",
            "16: return",
        ],
    },
    Fault {
        fixture: "WholeRangeSwitch",
        make: classes::whole_range_switch,
        what: "classfile-parser also computes `high - low + 1` in 32 bits",
        shows: |class| {
            let code = code_of(class)?;
            let read = catch_unwind(move || {
                classfile_parser::code_attribute::code_parser(&code)
                    .map(|it| it.1.len())
                    .ok()
            });
            ensure!(read.is_err() || !cfg!(debug_assertions), "{read:?}");
            Ok(())
        },
        ours: Ours::ReadsClass,
        javap: &[
            "1: tableswitch   { // -2147483648 to 2147483647",
            "default: 16",
            "16: return",
        ],
    },
    Fault {
        fixture: "NoPool",
        make: || [0xCA, 0xFE, 0xBA, 0xBE, 0, 0, 0, 52, 0, 0].to_vec(),
        what: "classfile-parser computes `constant_pool_count - 1` of 0",
        shows: |class| {
            let class = class.to_vec();
            let read = catch_unwind(move || classfile_parser::class_parser(&class).is_ok());
            ensure!(read.is_err() || !cfg!(debug_assertions), "{read:?}");
            Ok(())
        },
        ours: Ours::Refuses,
        javap: &["Error: unexpected end of file"],
    },
    Fault {
        fixture: "CutFrame",
        make: classes::cut_frame,
        what: "classfile-parser panics where a frame's types are cut off",
        shows: |class| {
            let info = attribute_of_code(class, b"StackMapTable")?;
            let read = catch_unwind(move || stack_map_table_attribute_parser(&info).is_ok());
            ensure!(read.is_err(), "{read:?}");
            Ok(())
        },
        ours: Ours::ReadsClass,
        javap: &["StackMapTable: length = 0x3 (java.lang.reflect.InvocationTargetException)"],
    },
    Fault {
        fixture: "TrailingBytes",
        make: classes::trailing_bytes,
        what: "classfile-parser accepts bytes behind the class (JVMS §4.8); so does javap",
        shows: |class| {
            let (rest, _) = classfile_parser::class_parser(class)
                .map_err(|_| anyhow!("the crate refuses the class"))?;
            ensure!(
                rest.len() == 3,
                "3 unread bytes expected, {} found",
                rest.len()
            );
            Ok(())
        },
        ours: Ours::Refuses,
        javap: &["class TrailingBytes"],
    },
    Fault {
        fixture: "LongAtEnd",
        make: classes::long_at_end,
        what: "both accept a pool whose last entry is the first half of a long (JVMS §4.4.5); so does javap",
        shows: |class| {
            cafebabe::parse_class(class)
                .map_err(|it| anyhow!("cafebabe refuses the class: {it}"))?;
            classfile_parser::class_parser(class)
                .map_err(|_| anyhow!("classfile-parser refuses the class"))?;
            Ok(())
        },
        ours: Ours::Refuses,
        javap: &["#5 = Long               1l"],
    },
    Fault {
        fixture: "BadOpcode",
        make: classes::bad_opcode,
        what: "classfile-parser gives the instructions before one that it does not know, and no error",
        shows: |class| {
            let code = code_of(class)?;
            let (rest, read) = classfile_parser::code_attribute::code_parser(&code)
                .map_err(|_| anyhow!("the crate refuses the class"))?;
            ensure!((rest.len(), read.len()) == (2, 2), "{rest:?} {read:?}");
            Ok(())
        },
        ours: Ours::ReadsClass,
        javap: &["1: nop", "2: bytecode 219", "3: return"],
    },
    Fault {
        fixture: "SurrogateType",
        make: classes::surrogate_type,
        what: "cafebabe accepts a descriptor that is not valid UTF-16, and panics when it is read",
        shows: |class| {
            let class = class.to_vec();
            let read = catch_unwind(move || {
                let theirs = cafebabe::parse_class(&class).map_err(|it| it.to_string());
                // The iterator borrows the class for as long as it lives.
                theirs.map(|it| Box::leak(Box::new(it)).constantpool_iter().count())
            });
            ensure!(read.is_err(), "{read:?}");
            Ok(())
        },
        ours: Ours::Agrees,
        javap: &["= NameAndType "],
    },
];

pub(crate) fn has_dynamic_bootstrap_argument(class: &ClassFile<'_>) -> bool {
    let pool = class.pool();
    let methods = class.attributes().flatten().find(|it| {
        pool.utf8(it.name_index)
            .is_ok_and(|it| it == b"BootstrapMethods")
    });
    let Some(methods) = methods else { return false };
    let mut values = methods
        .info
        .chunks_exact(2)
        .map(|it| u16::from_be_bytes([it[0], it[1]]));
    let mut next = || values.next().unwrap_or(0);
    let count = next();
    (0..count).any(|_| {
        let (_handle, arguments) = (next(), next());
        (0..arguments)
            .map(|_| matches!(pool.get(CpIndex(next())), Ok(Constant::Dynamic { .. })))
            .fold(false, |a, b| a | b)
    })
}

pub(crate) fn check_all() -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("second_opinions");
    let bless = std::env::var_os("BLESS").is_some();
    let jdk = Jdk::find(17)?;
    let file_of = |fault: &Fault| folder.join(format!("{}.class", fault.fixture));
    for fault in FAULTS.iter().filter(|_| bless) {
        fs::create_dir_all(&folder)?;
        fs::write(file_of(fault), (fault.make)())?;
    }
    for fault in FAULTS {
        let file = file_of(fault);
        let class = fs::read(&file).with_context(|| file.display().to_string())?;
        ensure!(
            class == (fault.make)(),
            "{} differs from the class that this test makes; BLESS=1 writes it again",
            file.display()
        );
        check(&jdk, fault, &file, &class)
            .with_context(|| format!("{}: {}", fault.fixture, fault.what))?;
    }
    Ok(())
}

fn check(jdk: &Jdk, fault: &Fault, file: &Path, class: &[u8]) -> Result<()> {
    (fault.shows)(class).context("the crate no longer has this fault; remove it from the list")?;
    let printed = javap::print(jdk, &[PathBuf::from(file)])?;
    for text in fault.javap {
        ensure!(
            printed.contains(text),
            "javap does not print {text:?}:\n{printed}"
        );
    }
    let ours = ClassFile::parse(class);
    ensure!(
        ours.is_ok() == (fault.ours != Ours::Refuses),
        "{:?}",
        ours.err()
    );
    if fault.ours == Ours::Refuses {
        let linked = Runner::new(jdk, &[]).try_class(class)?.link;
        ensure!(
            linked
                .as_ref()
                .is_err_and(|it| it.contains("ClassFormatError")),
            "HotSpot should refuse the class with a ClassFormatError: {linked:?}"
        );
    }
    if let Ok(ours) = ours {
        let theirs = javap_text::parse(&printed)?
            .pop()
            .context("the bytes are no class")?;
        let agreed = javap::agree_on(&ours, &theirs, &mut javap::Seen::default());
        ensure!(agreed.is_ok() == (fault.ours == Ours::Agrees), "{agreed:?}");
    }
    Ok(())
}

fn cafebabe_refuses(class: &[u8], message: &str) -> Result<()> {
    match cafebabe::parse_class(class) {
        Ok(_) => bail!("the crate reads the class, which it should refuse"),
        Err(error) => ensure!(error.to_string().contains(message), "{error}"),
    }
    Ok(())
}

fn nom_refuses(class: &[u8]) -> Result<()> {
    ensure!(
        classfile_parser::class_parser(class).is_err(),
        "the crate reads the class, which it should refuse"
    );
    Ok(())
}

/// Returns the instructions of the first method, as classfile-parser reads them.
fn code_of(class: &[u8]) -> Result<Vec<u8>> {
    let (_, class) = classfile_parser::class_parser(class)
        .map_err(|_| anyhow!("the crate refuses the class"))?;
    let method = class.methods.first().context("the class has no method")?;
    let code = method
        .attributes
        .first()
        .context("the method has no code")?;
    let (_, code) =
        code_attribute_parser(&code.info).map_err(|_| anyhow!("the crate refuses the class"))?;
    Ok(code.code)
}

/// Returns an attribute of the first method's code, as the mutator's reader finds it.
fn attribute_of_code(class: &[u8], name: &[u8]) -> Result<Vec<u8>> {
    let class = Class::parse(class).context("the bytes are no class")?;
    let code = class
        .methods
        .first()
        .and_then(Member::code)
        .context("the class has no code")?;
    let attribute = code
        .attributes
        .iter()
        .find(|it| class.utf8(it.name) == name)
        .context("the code has no attribute of this name")?;
    match &attribute.info {
        Info::Bytes(bytes) => Ok(bytes.clone()),
        Info::Code(_) => bail!("a Code attribute stands inside another one"),
    }
}
