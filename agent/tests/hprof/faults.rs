//! Faults: a full disk, a full heap, files that exist, many signals, many threads.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use loadhook_hprof::contents::{Contents, Section};
use loadhook_hprof::text::CostKind;

use super::{command, command_of, contents, costs, run_in, sites, text};
use crate::on_jdks;
use crate::support::finish;

/// Returns the names of the files in a folder, in their order.
fn names(folder: &Path) -> Result<Vec<String>> {
    let names = std::fs::read_dir(folder)?
        .map(|entry| Ok(entry?.file_name().into_string().unwrap_or_default()));
    let mut names: Vec<String> = names.collect::<Result<_>>()?;
    names.sort_unstable();
    Ok(names)
}

fn has_heap(contents: &Contents) -> bool {
    let mut sections = contents.sections.iter();
    sections.any(|section| matches!(section, Section::Heap(_)))
}

/// Returns the numbers of live and of all objects of a class in SITES.
fn objects(contents: &Contents, class: &str) -> Result<[u64; 2]> {
    let rows = sites(contents)?.iter().filter(|row| row.class == class);
    Ok(rows.fold([0, 0], |[live, all], row| {
        let [own, made] = [row.live, row.allocated].map(|of| of.objects.unwrap_or(0));
        [live + own, all + made]
    }))
}

/// If the disk has no room for the heap dump, the file has the tables only. A limit on the size of files stands for the
/// full disk.
#[test]
fn a_disk_without_room_for_the_dump_gets_the_tables() -> Result<()> {
    let folder = tempfile::tempdir()?;
    for options in ["heap=all,depth=1", "heap=all,depth=1,format=b"] {
        let java = command(17, folder.path(), options, 1)?;
        let mut limited = Command::new("sh");
        // The unit of the limit is 512 or 1,024 bytes, depending on the shell.
        limited.args(["-c", "ulimit -f 400; exec \"$@\"", "sh"]);
        limited.arg(java.get_program()).args(java.get_args());
        limited.current_dir(folder.path());
        for (name, value) in java.get_envs() {
            match value {
                Some(value) => limited.env(name, value),
                None => limited.env_remove(name),
            };
        }
        let (file, output) = run_in(&folder, limited, options)?;
        let whole = contents(&file)?;
        ensure!(!has_heap(&whole) && objects(&whole, "Hprof$Item")? == [1000, 1000]);
        let said = text(&output.stderr);
        ensure!(
            said.contains("no heap dump: File too large")
                && said.contains("space in the folder of HPROF's file"),
            "{said}"
        );
        std::fs::remove_file(folder.path().join(&names(folder.path())?[0]))?;
    }
    Ok(())
}

/// If the disk has no room at all, the program runs to its end, and a message says that there is no file.
#[test]
fn a_full_disk_is_reported() -> Result<()> {
    let folder = tempfile::tempdir()?;
    for options in [
        "heap=all,file=/dev/full",
        "cpu=times,format=b,file=/dev/full",
    ] {
        let output = finish(&mut command(17, folder.path(), options, 1)?)?;
        let said = text(&output.stderr);
        ensure!(
            output.status.success() && text(&output.stdout) == "done\n",
            "{output:?}"
        );
        ensure!(
            said.contains("no profile: /dev/full: No space left on device"),
            "{said}"
        );
        ensure!(names(folder.path())?.is_empty());
    }
    Ok(())
}

/// With `force=n`, an existing file stays, and the name of the new one has the id of the process.
#[test]
fn an_existing_file_is_kept() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let before = folder.path().join("java.hprof.txt");
    std::fs::write(&before, "before")?;
    let mut command = command(17, folder.path(), "heap=sites,force=n", 1)?;
    let output = finish(&mut command)?;
    let said = text(&output.stderr);
    let name = said
        .split("profile written to ")
        .nth(1)
        .context("no file")?
        .trim_end();
    let process = name
        .strip_prefix("java.hprof.")
        .and_then(|rest| rest.strip_suffix(".txt"));
    ensure!(
        process.is_some_and(|process| process.parse::<u32>().is_ok()),
        "{said}"
    );
    let whole = contents(&std::fs::read(folder.path().join(name))?)?;
    ensure!(objects(&whole, "Hprof$Item")? == [1000, 1000]);
    ensure!(std::fs::read(before)? == b"before" && names(folder.path())?.len() == 2);
    Ok(())
}

/// Two signals at once lead to one file or two. All files together have each call once.
#[test]
fn signals_at_once_lose_nothing() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut command = command(17, folder.path(), "cpu=times,depth=1,cutoff=0", 1)?;
    let output = finish(command.args(["java.hprof.1.txt", "twice"]))?;
    ensure!(
        output.status.success() && output.stdout.ends_with(b"done\n"),
        "{output:?}"
    );
    let names = names(folder.path())?;
    let all = ["java.hprof.1.txt", "java.hprof.2.txt", "java.hprof.txt"];
    ensure!(names == all || names == [all[0], all[2]], "{names:?}");
    let mut calls = Vec::new();
    for name in names {
        let whole = contents(&std::fs::read(folder.path().join(name))?)?;
        let (_, rows) = costs(&whole, CostKind::Times)?;
        let row = rows.iter().find(|row| row.name == "Hprof.step");
        calls.push(row.map_or(0, |row| row.count));
    }
    ensure!(
        calls[0] == 1000 && calls.iter().sum::<i64>() == 2000,
        "{calls:?}"
    );
    Ok(())
}

/// The program ends because its heap is full, and stays full.
fn a_full_heap_has_a_file(feature: u32) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut command = command_of(
        "HprofFull",
        feature,
        folder.path(),
        "heap=all,monitor=y,depth=1",
    )?;
    command.env("JAVA_TOOL_OPTIONS", "-Xmx32m -XX:+UseSerialGC");
    let output = finish(&mut command)?;
    let said = text(&output.stderr);
    ensure!(
        output.status.code() == Some(1) && said.contains("java.lang.OutOfMemoryError"),
        "{said}"
    );
    let whole = contents(&std::fs::read(folder.path().join("java.hprof.txt")).context(said)?)?;
    let [live, all] = objects(&whole, "long[]")?;
    ensure!(
        live > 2000 && all >= live && has_heap(&whole),
        "{live} {all}"
    );
    ensure!(names(folder.path())?.len() == 1);
    Ok(())
}

on_jdks!(a_full_heap_has_a_file: on_17 17, on_25 25);

/// Many threads end while they are sampled. The file has all their objects, and few rows.
fn many_threads(feature: u32, threads: u64, arguments: &[&str]) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let options = "cpu=samples,interval=1,heap=sites,monitor=y,depth=2,cutoff=0";
    let mut command = command_of("HprofThreads", feature, folder.path(), options)?;
    command.arg(threads.to_string()).args(arguments);
    let (file, _) = run_in(&folder, command, options)?;
    let whole = contents(&file)?;
    let [live, all] = objects(&whole, "HprofThreads$OfThread")?;
    ensure!(all == threads && live <= all, "{all}");
    ensure!(costs(&whole, CostKind::Samples)?.0 > 0);
    ensure!(whole.threads.len() < 100, "{}", whole.threads.len());
    Ok(())
}

fn a_hundred_thousand_virtual_threads(feature: u32) -> Result<()> {
    many_threads(feature, 100_000, &["virtual"])
}

/// Platform threads take much more time, so there are fewer of them.
#[test]
fn twenty_thousand_platform_threads() -> Result<()> {
    many_threads(17, 20_000, &[])
}

on_jdks!(a_hundred_thousand_virtual_threads: on_21 21, on_25 25);
