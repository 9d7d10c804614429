//! Dumps of the heap, and files that a signal or the end of the JVM asks for.

use std::collections::HashMap;

use anyhow::{Context, Result, ensure};
use loadhook_hprof::contents::{Contents, Heap, Section};
use loadhook_hprof::text::CostKind;
use loadhook_hprof::{ErrorKind, LoadClass, NO_TRACE, Visitor, read};

use super::{command, contents, costs, run_in, run_to_file, sites, text};
use crate::on_jdks;
use crate::support::finish;

/// Counts the objects of `Hprof$Item`.
#[derive(Default)]
struct Items {
    names: HashMap<u64, Vec<u8>>,
    class: u64,
    count: u64,
    /// How often the empty trace is defined.
    empty_traces: u64,
}

impl Visitor for Items {
    fn text(&mut self, id: u64, text: &[u8]) -> Result<(), ErrorKind> {
        self.names.insert(id, text.to_vec());
        Ok(())
    }
    fn load_class(&mut self, class: LoadClass) -> Result<(), ErrorKind> {
        // A site names the class, too, by an identifier that no object has.
        if self.names[&class.name] == b"Hprof$Item" {
            self.class = class.class;
        }
        Ok(())
    }
    fn stack_trace(&mut self, serial: u32, _: u32) -> Result<(), ErrorKind> {
        self.empty_traces += u64::from(serial == NO_TRACE);
        Ok(())
    }
    fn instance(&mut self, _: u64, class: u64, _: &[u8]) -> Result<(), ErrorKind> {
        self.count += u64::from(class == self.class);
        Ok(())
    }
}

fn heap(contents: &Contents) -> Result<&Heap> {
    let mut sections = contents.sections.iter();
    let heap = sections.find_map(|section| match section {
        Section::Heap(heap) => Some(heap),
        _ => None,
    });
    heap.context("no heap dump")
}

/// The dump of the heap follows the tables, in both formats.
fn heaps_have_all_objects(feature: u32) -> Result<()> {
    let (file, _) = run_to_file(feature, "heap=all,format=b", 1)?;
    let whole = contents(&file)?;
    sites(&whole)?;
    ensure!(heap(&whole)?.objects > 1000);
    // The sums of SITES are not those of the heap.
    let is_summary = |section: &Section| matches!(section, Section::Summary(_));
    ensure!(!whole.sections.iter().any(is_summary));
    let mut items = Items::default();
    read(&file[..], &mut items)?;
    ensure!(items.count == 1000, "{}", items.count);
    ensure!(items.empty_traces == 1, "{}", items.empty_traces);
    let (file, _) = run_to_file(feature, "heap=dump,verbose=n", 1)?;
    let whole = contents(&file)?;
    ensure!(heap(&whole)?.arrays > 100 && heap(&whole)?.roots > 10);
    let main = whole
        .threads
        .values()
        .find(|thread| thread.name == "DestroyJavaVM");
    ensure!(main.is_some(), "{:?}", whole.threads);
    let text = text(&file);
    let items = text
        .lines()
        .filter(|line| line.contains("class=Hprof$Item@"));
    // An object without fields has 16 bytes under compressed class pointers.
    let sizes = items
        .map(|line| line.contains(" (sz=16, "))
        .collect::<Vec<_>>();
    ensure!(sizes == [true; 1000], "{}", sizes.len());
    ensure!(text.contains("elem type=Hprof$Item[]@") && text.contains("\tstatic items\t"));
    ensure!(!text.contains("SITES") && text.contains("the profiler's own objects"));
    Ok(())
}

/// At its end the JVM has stopped the threads of a concurrent collector, which then collects nothing more.
#[test]
fn concurrent_collectors_do_not_hold_the_end_up() -> Result<()> {
    for feature in [17, 25] {
        let folder = tempfile::tempdir()?;
        let options = "heap=all,monitor=y,format=b";
        let mut command = command(feature, folder.path(), options, 1)?;
        command.env("JAVA_TOOL_OPTIONS", "-XX:+UseZGC");
        let (file, _) = run_in(&folder, command, options)?;
        ensure!(heap(&contents(&file)?)?.objects > 1000);
    }
    Ok(())
}

/// With `doe=n`, no file is written at the exit.
#[test]
fn nothing_is_written_at_the_exit_if_so_wanted() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut command = command(17, folder.path(), "heap=all,doe=n", 1)?;
    let output = finish(&mut command)?;
    ensure!(
        output.status.success() && text(&output.stdout) == "done\n",
        "{output:?}"
    );
    ensure!(std::fs::read_dir(folder.path())?.count() == 0);
    Ok(())
}

/// `SIGQUIT` writes a file with the numbers so far, beside the one at the end.
#[test]
fn a_signal_writes_a_file_of_its_own() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut command = command(17, folder.path(), "heap=all,doe=n,depth=1,cutoff=0", 1)?;
    command.arg("java.hprof.1.txt");
    let output = finish(&mut command)?;
    ensure!(output.status.success(), "{output:?}");
    let said = text(&output.stderr);
    ensure!(
        said.contains("profile written to java.hprof.1.txt"),
        "{said}"
    );
    let file = std::fs::read(folder.path().join("java.hprof.1.txt"))?;
    let whole = contents(&file)?;
    let item = sites(&whole)?.iter().find(|row| row.class == "Hprof$Item");
    ensure!(
        item.is_some_and(|row| row.live.objects == Some(1000)),
        "{item:?}"
    );
    ensure!(heap(&whole)?.objects > 1000);
    ensure!(std::fs::read_dir(folder.path())?.count() == 1);
    Ok(())
}

/// As in HPROF, counting begins anew after the file that a signal asks for. Objects that are alive stay in the tables.
#[test]
fn a_signal_begins_to_count_anew() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let options = "cpu=times,heap=sites,monitor=y,depth=1,cutoff=0";
    let mut command = command(17, folder.path(), options, 1)?;
    command.arg("java.hprof.1.txt");
    let output = finish(&mut command)?;
    ensure!(output.status.success(), "{output:?}");
    let numbers = |file: &str| -> Result<[Option<i64>; 3]> {
        let whole = contents(&std::fs::read(folder.path().join(file))?)?;
        let (_, rows) = costs(&whole, CostKind::Times)?;
        let calls = |name: &str| {
            let row = rows.iter().find(|row| row.name == name);
            row.map(|row| row.count)
        };
        let rows = sites(&whole)?;
        let item = rows.iter().find(|row| row.class == "Hprof$Item");
        let item = item.context("the items are alive")?;
        ensure!(item.live.objects == Some(1000), "{item:?}");
        let allocated = item.allocated.objects.map(u64::cast_signed);
        Ok([calls("Hprof.step"), calls("Hprof.fail"), allocated])
    };
    let first = numbers("java.hprof.1.txt")?;
    ensure!(first == [Some(1000), Some(300), Some(1000)], "{first:?}");
    // The program calls `step` as often again.
    let last = numbers("java.hprof.txt")?;
    ensure!(last == [Some(1000), None, Some(0)], "{last:?}");
    Ok(())
}

/// With `force=n`, a file that a signal asks for does not replace an existing one.
#[test]
fn a_file_that_a_signal_asks_for_replaces_none() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let before = folder.path().join("java.hprof.1.txt");
    std::fs::write(&before, "before")?;
    let mut command = command(17, folder.path(), "heap=sites,doe=n,force=n", 1)?;
    command.arg("java.hprof.2.txt");
    let output = finish(&mut command)?;
    ensure!(output.status.success(), "{output:?}");
    ensure!(std::fs::read(before)? == b"before");
    Ok(())
}

/// The JVM may end while a dump that a signal asked for is under way: the file at the end is complete, and so is every
/// other file that is left. A dump under ZGC would wait for ever if it asked for a collection then.
#[test]
fn the_end_needs_no_dump_under_way() -> Result<()> {
    for collector in ["-XX:+UseZGC", "-XX:+UseG1GC"] {
        let folder = tempfile::tempdir()?;
        let mut command = command(17, folder.path(), "heap=all,format=b", 1)?;
        command.env("JAVA_TOOL_OPTIONS", collector).arg(".");
        let output = finish(&mut command)?;
        ensure!(output.status.success(), "{output:?}");
        let said = text(&output.stderr);
        ensure!(
            said.contains("profile written to java.hprof\n") && !said.contains("no heap dump"),
            "{said}"
        );
        for entry in std::fs::read_dir(folder.path())? {
            let file = entry?.path();
            ensure!(heap(&contents(&std::fs::read(&file)?)?)?.objects > 1000);
            ensure!(
                ["java.hprof", "java.hprof.1"].contains(&&*text(
                    file.file_name().context("no name")?.as_encoded_bytes()
                )),
                "{file:?}"
            );
        }
    }
    Ok(())
}

on_jdks!(heaps_have_all_objects: on_17 17, on_25 25);
