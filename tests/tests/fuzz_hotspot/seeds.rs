//! The classes from which mutants are made.

use anyhow::{Context, Result};
use loadhook_testclasses::limits;
use loadhook_testclasses::mutate::class::{Attribute, Class, Code, Constant, Info, Member};
use loadhook_testclasses::mutate::drop_frames;
use loadhook_testclasses::mutate::random::Random;
use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::pairs::Runner;
use loadhook_testkit::{corpus, paths, source};
use std::fs;
use std::path::Path;
use std::sync::Mutex;

use crate::trials::PATIENCE;

const JDK_CLASSES: usize = 300;
const LARGEST_HANDMADE: usize = 6_000;

fn has_run(class: &[u8]) -> bool {
    let Some(class) = Class::parse(class) else {
        return false;
    };
    class.methods.iter().any(|it| {
        it.access & 8 != 0
            && class.utf8(it.name) == b"run"
            && class.utf8(it.descriptor).starts_with(b"()")
    })
}

/// Returns a source with a long method. The offset of a jump over the method's body fits into 16
/// bits, until probes make the body longer than 32,767 bytes.
fn large() -> (String, String) {
    let mut body = String::new();
    for i in 0..4_020 {
        body.push_str("x = x * 31 + 7;\n");
        match i % 300 {
            50 => body.push_str("if (x == 12345) { return new int[n + 3].length; }\n"),
            150 => body.push_str("if (x == 54321) { throw new IllegalStateException(\"no\"); }\n"),
            _ => {}
        }
    }
    let source = format!(
        "public class Large {{
            public static Object run() {{
                int r = 0;
                for (int i = 0; i < 4; i++) {{
                    try {{ r = r * 31 + body(i); }} catch (RuntimeException e) {{ r ^= e.getMessage().length(); }}
                }}
                return r;
            }}
            static int body(int n) {{
                int x = n;
                for (int i = 0; i < 2; i++) {{
                    if (n == 3 && i == 1) {{ throw new IllegalArgumentException(\"three\"); }}
                    {body}
                }}
                return x;
            }}
        }}"
    );
    ("Large.java".to_owned(), source)
}

/// Returns the seeds from the sources in `fuzz_seeds` and from the golden inputs. They are made once.
pub(crate) fn own_seeds() -> Result<Vec<Vec<u8>>> {
    static SEEDS: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());
    made_once(&SEEDS, make_own_seeds)
}

/// Returns the classes in `seeds`, after making them if there are none. Other threads wait meanwhile.
fn made_once(
    seeds: &Mutex<Vec<Vec<u8>>>,
    make: impl FnOnce() -> Result<Vec<Vec<u8>>>,
) -> Result<Vec<Vec<u8>>> {
    let mut seeds = seeds
        .lock()
        .map_err(|_| anyhow::anyhow!("a thread panicked"))?;
    if seeds.is_empty() {
        *seeds = make()?;
    }
    Ok(seeds.clone())
}

fn make_own_seeds() -> Result<Vec<Vec<u8>>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz_seeds");
    let mut sources = vec![large()];
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        let name = path
            .file_name()
            .and_then(|it| it.to_str())
            .context("a source has no UTF-8 name")?
            .to_owned();
        sources.push((name, fs::read_to_string(&path)?));
    }
    sources.sort();
    let mut seeds = Vec::new();
    for release in [8, 11, 17] {
        // `Patterns` needs release 17. The large class is compiled for one release only, to save
        // time.
        let fits = |it: &&(String, String)| match it.0.as_str() {
            "Patterns.java" => release == 17,
            "Large.java" => release == 8,
            _ => true,
        };
        let fitting: Vec<(&str, &str)> = sources
            .iter()
            .filter(fits)
            .map(|it| (it.0.as_str(), it.1.as_str()))
            .collect();
        let folder = source::compile(release, &fitting)?;
        for file in corpus::walk(&folder)? {
            let class = fs::read(file)?;
            if release == 8 {
                let mut old = Class::parse(&class).context("javac's class")?;
                old.major = 49;
                drop_frames(&mut old);
                seeds.push(old.write());
            }
            seeds.push(class);
        }
    }
    let golden = corpus::walk(&paths::workspace().join("golden/inputs")).unwrap_or_default();
    let golden: Result<Vec<Vec<u8>>, _> = golden.iter().map(fs::read).collect();
    seeds.extend(
        golden?
            .into_iter()
            .filter(|it| has_run(it) && it.len() < 20_000),
    );
    // Classes with dynamic call sites cannot have version 49, so they are left out.
    good_ones(seeds, Runner::new(&Jdk::find(17)?, &[]))
}

/// Returns the seeds from the hand-made golden inputs, and from the smaller classes at the limits
/// of the format. They are made once.
pub(crate) fn handmade_seeds() -> Result<Vec<Vec<u8>>> {
    static SEEDS: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());
    made_once(&SEEDS, make_handmade_seeds)
}

fn make_handmade_seeds() -> Result<Vec<Vec<u8>>> {
    let golden = loadhook_golden::handmade::all()
        .into_iter()
        .map(|it| it.bytes);
    let limits = limits::classes().map(|it| it.1);
    let fits = |it: &Vec<u8>| it.len() < LARGEST_HANDMADE && has_run(it);
    let seeds = golden.chain(limits).filter(fits).collect();
    good_ones(seeds, Runner::new(&Jdk::find(17)?, &[]))
}

/// Returns the seeds that HotSpot accepts and whose run ends in time.
fn good_ones(mut seeds: Vec<Vec<u8>>, runner: Runner) -> Result<Vec<Vec<u8>>> {
    // The long time limit makes the result independent of the load of the machine.
    let mut runner = runner.with_time_limit(PATIENCE);
    let outcomes = runner.judge_all(&seeds.iter().map(|it| (it, [])).collect::<Vec<_>>())?;
    let mut outcomes = outcomes.iter();
    seeds.retain(|_| {
        outcomes
            .next()
            .is_some_and(|it| it.original.ran().is_some())
    });
    Ok(seeds)
}

/// Returns a fixed sample of a JDK's classes. Each class gets a `run()` that does nothing, so that
/// none of its methods is called.
pub(crate) fn jdk_seeds(feature: u32) -> Result<Vec<Vec<u8>>> {
    let mut files = Vec::new();
    for file in corpus::walk(&corpus::jdk_classes(feature)?)? {
        // A program cannot define classes of java.*. Initialising classes of the launcher or of
        // agents has side effects.
        let name = file.to_string_lossy();
        let fits = !name.contains("/java/")
            && !name.contains("/sun/launcher")
            && (600..8_000).contains(&fs::metadata(&file)?.len());
        if fits {
            files.push(file);
        }
    }
    let mut random = Random::new(u64::from(feature));
    let mut seeds = Vec::new();
    while seeds.len() < JDK_CLASSES {
        let mut class = Class::parse(&fs::read(
            random
                .pick(&files)
                .context("the list of classes is empty")?,
        )?)
        .context("the bytes are no class")?;
        let is_new = !has_run(&class.write());
        if is_new && class.access & 0x8200 == 0 && !class.with_code().is_empty() {
            add_run(&mut class);
            seeds.push(class.write());
        }
    }
    good_ones(seeds, jdk_runner(&Jdk::find(feature)?))
}

pub(crate) fn jdk_runner(jdk: &Jdk) -> Runner {
    Runner::new(jdk, &["-Djava.awt.headless=true"]).with_jdk_internals()
}

fn add_run(class: &mut Class) {
    let mut utf8 = |text: &str| {
        let bytes = [&(text.len() as u16).to_be_bytes(), text.as_bytes()].concat();
        class.pool.push(Constant { tag: 1, bytes });
        class.pool.len() as u16 - 1
    };
    let (name, descriptor, code_name) = (utf8("run"), utf8("()Ljava/lang/Object;"), utf8("Code"));
    let code = Code {
        max_stack: 1,
        max_locals: 0,
        bytes: vec![0x01, 0xb0],
        handlers: Vec::new(),
        attributes: Vec::new(),
    };
    let attributes = vec![Attribute {
        name: code_name,
        info: Info::Code(code),
    }];
    class.methods.push(Member {
        access: 0x1008,
        name,
        descriptor,
        attributes,
    });
}
