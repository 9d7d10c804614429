//! What keeps an object: the shortest way from it to a root.

use std::io::{self, Write};

use anyhow::{Context, Result, bail};
use loadhook_heap::{Dominators, Frame, Graph, Profiler, Root, RootKind, Thread};
use loadhook_text::{bytes, clipped, count, printable};
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use super::report::{COLUMNS, Format, ReportArgs, id};
use super::source::Source;
use super::threads::Named;
use super::{json, table, threads};
use crate::output::{columns, say};

/// Least room for a class's name.
const NARROWEST_NAME: usize = 20;

/// Shows the way from the object that was asked for.
pub(super) fn write(
    source: &Source,
    args: &ReportArgs,
    of: &str,
    graph: &Graph,
    found: &Dominators,
    out: &mut dyn Write,
) -> Result<()> {
    let Asked { object, others } = asked(of, graph, found)?;
    if graph.is_left_out(object) {
        bail!(
            "{} {}: one of the profiler's own objects, which are left out: --all shows what keeps it",
            id(graph.id(object)),
            printable(&graph.name(object))
        );
    }
    let path = found.path(object);
    let Some(root) = path.last() else {
        bail!(
            "{} {}: no path to a GC root: the object is unreachable, only softly or weakly reachable, or \
             referred to by fields of java.lang.Class, which dumps leave out",
            id(graph.id(object)),
            printable(&graph.name(object))
        );
    };
    let links = graph.links(source.again()?, &path);
    source.is_unchanged()?;
    let links = links?;
    let root = Why::of(graph.root(*root), source);
    let way = Way {
        graph,
        found,
        path,
        links,
    };
    if args.format == Format::Json {
        let view = json!({
            "loose": found.loose(),
            "path": (0..way.path.len()).map(|at| way.json(at)).collect::<Vec<_>>(),
            "root": root.kind(),
            "thread": root.thread.as_ref().map(threads::named_json),
            "frame": root.frame().map(threads::frame_json),
            "others": others.iter().map(|other| id(*other)).collect::<Vec<_>>(),
        });
        return Ok(json::write(&graph.histogram, json::map(view), out)?);
    }
    let width = columns(io::stdout(), COLUMNS);
    way.text(args.top, width, out)?;
    writeln!(out, "{}", root.text(width))?;
    if !others.is_empty() {
        let shown = others.iter().take(args.top).map(|other| id(*other));
        let shown: Vec<String> = shown.collect();
        let more = if shown.len() < others.len() {
            " …"
        } else {
            ""
        };
        writeln!(
            out,
            "other classes of the same name: {}{more}",
            shown.join(" ")
        )?;
    }
    Ok(())
}

/// The object that was asked for.
struct Asked {
    object: u32,
    /// Of a class by its name, identifiers of the others that have it.
    others: Vec<u64>,
}

fn asked(of: &str, graph: &Graph, found: &Dominators) -> Result<Asked> {
    if let Some(hex) = of.strip_prefix("0x") {
        let number = u64::from_str_radix(hex, 16).with_context(|| format!("--path {of}"))?;
        let object = graph.object(number);
        let object = object
            .with_context(|| format!("--path {of}: no object with this identifier in the dump"))?;
        let others = Vec::new();
        return Ok(Asked { object, others });
    }
    // One that is kept, if there is.
    let is_kept = |object: &u32| found.retained(*object).is_some();
    let first = graph.of_class(of).find(is_kept);
    let first = first.or_else(|| graph.of_class(of).next());
    let is_class = of.starts_with("class ");
    let object = first.with_context(|| match is_class {
        true => format!("--path {of}: no class of that name in the dump; names are written as in class java.util.Map$Entry"),
        false => format!("--path {of}: no object of that class in the dump{}", near(of, graph)),
    })?;
    let others = match is_class {
        true => graph.of_class(of).filter(|other| *other != object),
        false => {
            return Ok(Asked {
                object,
                others: Vec::new(),
            });
        }
    };
    let others = others.map(|other| graph.id(other)).collect();
    Ok(Asked { object, others })
}

/// Names of classes that may have been meant; what has most bytes first.
fn near(of: &str, graph: &Graph) -> String {
    let is_near = |name: &str| name.rsplit(['.', '$']).next() == Some(of);
    let classes = graph.histogram.classes.iter();
    let names = classes
        .map(|class| &*class.name)
        .filter(|name| is_near(name));
    // One that several loaders have comes again.
    let mut different: Vec<_> = Vec::new();
    for name in names.map(printable) {
        if different.len() < 3 && !different.contains(&name) {
            different.push(name);
        }
    }
    match different.is_empty() {
        false => format!("; similar classes: {}", different.join(", ")),
        true => "; names are written as in java.util.Map$Entry or int[]".to_owned(),
    }
}

/// From the object to its root.
struct Way<'g> {
    graph: &'g Graph,
    found: &'g Dominators<'g>,
    path: Vec<u32>,
    /// How each refers to the one before.
    links: Vec<String>,
}

impl Way<'_> {
    fn link(&self, at: usize) -> Option<&str> {
        Some(&self.links[at.checked_sub(1)?])
    }

    fn retained(&self, object: u32) -> u64 {
        self.found.retained(object).unwrap_or(0)
    }

    fn json(&self, at: usize) -> Value {
        let object = self.path[at];
        json!({
            "id": id(self.graph.id(object)),
            "class": self.graph.name(object),
            "refers_by": self.link(at),
            "bytes": self.graph.size(object),
            "retained": self.retained(object),
        })
    }

    /// Of a long way `most` objects, half of them at each end.
    fn text(&self, most: usize, width: usize, out: &mut dyn Write) -> io::Result<()> {
        let left_out = self.path.len().saturating_sub(most);
        let gap = most.div_ceil(2);
        for at in 0..self.path.len() {
            match at.checked_sub(gap) {
                Some(0) if left_out > 0 => {
                    let left_out = count(left_out as u64);
                    writeln!(out, "  … {left_out} more objects (--top N shows more)")?;
                }
                Some(past) if past < left_out => {}
                _ => writeln!(out, "{}", self.line(at, width))?,
            }
        }
        Ok(())
    }

    /// `  ↑ next of Node 0x7f00 · retains 24 bytes`; identifiers are not cut.
    fn line(&self, at: usize, width: usize) -> String {
        let object = self.path[at];
        let by = self.link(at).map_or(String::new(), |link| {
            format!("  ↑ {} of ", clipped(&printable(link), width / 2))
        });
        let [id, retained] = [id(self.graph.id(object)), bytes(self.retained(object))];
        let rest = format!(" {id} · retains {retained}");
        let name = printable(&self.graph.name(object)).into_owned();
        let room = width.saturating_sub(by.width() + rest.width());
        let name = table::object(&name, room.max(NARROWEST_NAME));
        format!("{by}{name}{rest}")
    }
}

/// Why an object is a root.
pub(super) struct Why {
    root: Option<Root>,
    /// Whose root it is, if the dump has that.
    thread: Option<Thread>,
}

/// Returns whether a root names the thread that it belongs to.
fn is_of_a_thread(root: Root) -> bool {
    use RootKind::{JavaFrame, JniLocal, NativeStack, ThreadBlock, ThreadObject};
    matches!(
        root.kind,
        JavaFrame | JniLocal | NativeStack | ThreadBlock | ThreadObject
    )
}

impl Why {
    /// Threads are read if it is of one; without them the way is what it is.
    fn of(root: Option<Root>, source: &Source) -> Why {
        let thread = None;
        if !root.is_some_and(is_of_a_thread) {
            return Why { root, thread };
        }
        match threads::read(source, Profiler::Shown) {
            Ok((found, _)) => Why::among(root, &found.threads),
            Err(error) => {
                say!("warning: {error:#}; the root's thread is not named");
                Why { root, thread }
            }
        }
    }

    /// The same where the threads are known.
    pub(super) fn among(root: Option<Root>, threads: &[Thread]) -> Why {
        let root_of_thread = root.filter(|root| is_of_a_thread(*root));
        let thread = root_of_thread.and_then(|root| {
            let mut threads = threads.iter();
            threads.find(|thread| thread.serial == root.thread).cloned()
        });
        Why { root, thread }
    }

    fn frame(&self) -> Option<&Frame> {
        let root = self
            .root
            .filter(|root| root.kind != RootKind::ThreadObject)?;
        self.thread.as_ref()?.frames.get(root.frame as usize)
    }

    fn kind(&self) -> &'static str {
        let Some(root) = &self.root else {
            return "unknown";
        };
        match root.kind {
            RootKind::Unknown => "unknown",
            RootKind::JniGlobal => "global reference of native code",
            RootKind::JniLocal => "local reference of native code",
            RootKind::JavaFrame => "variable of a thread",
            RootKind::NativeStack => "native stack",
            RootKind::StickyClass => "class of the VM's own loader",
            RootKind::ThreadBlock => "thread block",
            RootKind::MonitorUsed => "monitor in use",
            RootKind::ThreadObject => "thread",
        }
    }

    /// `root: variable of thread "main" 0x7f00 in Main.main(Main.java:7)`, the
    /// place on a line of its own if they are too wide together.
    pub(super) fn text(&self, width: usize) -> String {
        let (Some(root), Some(thread)) = (&self.root, &self.thread) else {
            return format!("root: {}", self.kind());
        };
        let what = match root.kind {
            RootKind::ThreadObject => "root: ".to_owned(),
            RootKind::JavaFrame => "root: variable of ".to_owned(),
            _ => format!("root: {} of ", self.kind()),
        };
        let thread = Named::owner(thread);
        let place = self.frame().map(threads::place);
        let place = place.map_or(String::new(), |place| format!(" in {place}"));
        let whole = format!("{what}{}{place}", thread.text());
        let whole = printable(&whole);
        if whole.width() <= width {
            return whole.into_owned();
        }
        let within = |before: &str| width.saturating_sub(before.width());
        let thread = thread.within(within(&what));
        let below = "\n      in ";
        let place = self.frame().map_or(String::new(), |frame| {
            let place = threads::place_within(frame, within(below.trim_start_matches('\n')));
            format!("{below}{place}")
        });
        format!("{what}{thread}{place}")
    }
}
