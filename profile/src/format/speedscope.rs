//! The file format of <https://www.speedscope.app>.

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::analysis::options::Options;
use crate::analysis::tree::{Step, Tree};
use crate::analysis::view::View;
use crate::model::Profile;
use loadhook_text::units::Quantity;

/// Writes one evented profile for each thread. The time axis shows no history: each callee appears
/// once, with its total time as its length, the longest first.
pub(super) fn write(
    profile: &Profile,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let view = View::new(profile, options);
    let pairs = view.methods.iter().zip(&view.names);
    let frames: Vec<Value> = pairs
        .map(|(method, name)| {
            let mut frame = json!({ "name": name });
            if let Some(file) = &method.file {
                frame["file"] = json!(&**file);
            }
            if let Some(line) = method.line {
                frame["line"] = json!(line);
            }
            frame
        })
        .collect();
    let header = &profile.header;
    write!(
        out,
        r#"{{"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":{},"name":{},"shared":{{"frames":{}}},"profiles":["#,
        json!(format!("loadhook {}", header.version).trim_end()),
        json!(header.command),
        json!(frames),
    )?;
    for (at, tree) in view.trees.iter().enumerate() {
        if at > 0 {
            write!(out, ",")?;
        }
        events(tree, &view, out)?;
    }
    writeln!(out, "]}}")
}

fn events(tree: &Tree, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let counts_only = view.counts_only();
    let unit = match view.quantity {
        _ if counts_only => "none",
        Quantity::Time => "nanoseconds",
        Quantity::Bytes => "bytes",
    };
    let roots = tree.children(None);
    let end: f64 = roots.map(|root| tree.entries[root as usize].below).sum();
    write!(
        out,
        r#"{{"type":"evented","name":{},"unit":"{unit}","startValue":0,"endValue":{},"events":["#,
        json!(tree.name),
        end.ceil(),
    )?;
    let mut written = Ok(());
    let mut comma = "";
    let mut now = 0.0;
    tree.walk(|step| {
        let (kind, at) = match step {
            Step::Enter(at) => ('O', at),
            Step::Leave(at) => ('C', at),
        };
        let entry = &tree.entries[at as usize];
        if kind == 'C' {
            // An entry's own time follows its callees' times.
            now += entry.size(counts_only);
        }
        if written.is_ok() {
            let (at, frame) = (now.round(), entry.method);
            written = write!(
                out,
                r#"{comma}{{"type":"{kind}","frame":{frame},"at":{at}}}"#
            );
            comma = ",";
        }
        true
    });
    written?;
    write!(out, "]}}")
}
