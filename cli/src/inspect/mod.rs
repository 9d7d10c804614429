//! `loadhook inspect`: prints a class as text, or compares two.

mod class_source;

use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, BufWriter, Write};

use anyhow::{Context, Result, bail};
use clap::Args;
use loadhook_rewrite::{ClassFile, symbol, text};

use self::class_source::read_class;
use loadhook_text::terminal::columns;

use crate::output::listed;
use crate::side_by_side::{Pair, write_pair};

/// Number of columns of a comparison that is not printed on a terminal.
const COLUMNS: usize = 160;

/// Arguments of `loadhook inspect`.
#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// A class file, or a class in an archive: app.jar!com/example/Main.class
    #[arg(value_name = "FILE|JAR!ENTRY")]
    class: String,

    /// Print only this method: main, or main([Ljava/lang/String;)V
    method: Option<String>,

    /// Compare with another class, side by side
    ///
    /// Lines are compared without the constant pool and its indexes. Bytecode offsets count as
    /// equal if they stand for the same instruction, or for one inserted before it. Lines only on
    /// the left are marked `<`, only on the right `>`, changed ones `|`.
    #[arg(long, value_name = "OTHER")]
    diff: Option<String>,
}

/// Runs the command.
pub(crate) fn run(args: &InspectArgs) -> Result<()> {
    let method = args.method.as_deref();
    let bytes = read_class(&args.class)?;
    let class = parse(&args.class, &bytes)?;
    let mut out = BufWriter::new(io::stdout().lock());
    match &args.diff {
        None => {
            check_method(&args.class, &class, method)?;
            let mut sink = TextSink {
                out: &mut out,
                result: Ok(()),
            };
            let printed = text::print(&class, method, &mut sink);
            sink.result.context("cannot write to standard output")?;
            printed?;
        }
        Some(other) => {
            let other_bytes = read_class(other)?;
            let other_class = parse(other, &other_bytes)?;
            // If only one of the classes has the method, that is a difference.
            if check_method(&args.class, &class, method).is_err() {
                check_method(other, &other_class, method)?;
            }
            let pair = Pair {
                names: [&args.class, other],
                lines: [&class, &other_class].map(|class| text::comparable(class, method)),
            };
            write_pair(&pair, columns(io::stdout(), COLUMNS), &mut out)
                .context("cannot write to standard output")?;
        }
    }
    out.flush().context("cannot write to standard output")
}

fn parse<'a>(name: &str, bytes: &'a [u8]) -> Result<ClassFile<'a>> {
    ClassFile::parse(bytes).with_context(|| name.to_owned())
}

fn check_method(name: &str, class: &ClassFile<'_>, method: Option<&str>) -> Result<()> {
    let Some(filter) = method else {
        return Ok(());
    };
    let mut methods = class.methods();
    if methods.any(|method| text::names_method(filter, &method)) {
        return Ok(());
    }
    let names: BTreeSet<String> = class.methods().map(|m| symbol::text(m.name())).collect();
    let names: Vec<String> = names.into_iter().collect();
    if names.is_empty() {
        bail!("{name}: no method {filter}; the class has none");
    }
    bail!(
        "{name}: no method {filter}; the class has {}",
        listed(&names)
    )
}

/// A sink for text. It writes to `out`, and stores the error that ended the writing.
struct TextSink<W> {
    out: W,
    result: io::Result<()>,
}

impl<W: Write> fmt::Write for TextSink<W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.result = self.out.write_all(text.as_bytes());
        self.result.as_ref().map(|_| ()).map_err(|_| fmt::Error)
    }
}
