//! Tests of HPROF's option `net=`: the stream, the commands, and readers that are missing or go away.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use loadhook_hprof::contents::{Contents, ReadContents, Section};
use loadhook_hprof::{COLLECT_FIRST, Command as Order};
use loadhook_testkit::hprof_walk::walk;
use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::process::PATIENCE;

mod support;
use support::attach::wait_for;
use support::{agent, compiled, finish};

/// Returns the command that runs `Hprof` with an address. The program asks for a dump by a signal, and ends when there
/// is a file `end`.
fn command(feature: u32, folder: &Path, options: &str, port: u16) -> Result<Command> {
    let mut java = command_of("Hprof", feature, folder, options, port)?;
    java.arg("300");
    Ok(java)
}

/// Returns the command that runs a program with an address.
fn command_of(
    program: &str,
    feature: u32,
    folder: &Path,
    options: &str,
    port: u16,
) -> Result<Command> {
    let mut java = Jdk::find(feature)?.java();
    java.current_dir(folder);
    for variable in [
        "JAVA_TOOL_OPTIONS",
        "JDK_JAVA_OPTIONS",
        "_JAVA_HPROF_OPTIONS",
    ] {
        java.env_remove(variable);
    }
    let agent = agent()?;
    java.arg(format!(
        "-agentpath:{}=hprof:{options},net=127.0.0.1:{port}",
        agent.display()
    ));
    java.arg("-cp").arg(compiled()?).arg(program);
    Ok(java)
}

fn started(java: &mut Command) -> Result<Child> {
    let child = java.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    child.context("java does not start")
}

/// Counts the ends of answers in a stream. A record that is not complete does not count.
fn ends(stream: &[u8]) -> usize {
    const HEAD: usize = 31;
    let mut rest = stream.get(HEAD..).unwrap_or_default();
    let mut ends = 0;
    while let Some((head, content)) = rest.split_first_chunk::<9>() {
        let [tag, _, _, _, _, length @ ..] = *head;
        let Some(next) = content.get(u32::from_be_bytes(length) as usize..) else {
            break;
        };
        ends += usize::from(tag == 0x2c);
        rest = next;
    }
    ends
}

/// Reads until the stream has this number of answers.
fn read_answers(program: &mut TcpStream, stream: &mut Vec<u8>, answers: usize) -> Result<()> {
    program.set_read_timeout(Some(Duration::from_secs(1)))?;
    let began = Instant::now();
    let mut buffer = vec![0; 1 << 16];
    while ends(stream) < answers {
        ensure!(began.elapsed() < PATIENCE, "{} answers", ends(stream));
        match program.read(&mut buffer) {
            Ok(0) => bail!("the stream has ended after {} answers", ends(stream)),
            Ok(read) => stream.extend(&buffer[..read]),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn contents(stream: &[u8]) -> Result<Contents> {
    let ReadContents { contents, error } = Contents::read(stream);
    ensure!(error.is_none(), "{error:?}");
    ensure!(contents.warnings.is_empty(), "{:?}", contents.warnings);
    Ok(contents)
}

/// Each command has an answer. The serial numbers in an answer have the same meaning as in earlier
/// answers.
#[test]
fn commands_are_answered() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    let options = "cpu=samples,interval=1,heap=sites,cutoff=0";
    let mut java = command(25, folder.path(), options, port)?;
    let child = started(java.arg("end"))?;
    let (mut program, _) = listener.accept()?;
    let mut stream = Vec::new();
    // The first end belongs to the beginning of the stream, the second one to the answer to the
    // signal.
    read_answers(&mut program, &mut stream, 2)?;
    let (flags, cutoff) = (COLLECT_FIRST, 0.0);
    for (order, answers) in [
        (Order::Collect, 0),
        (Order::Sampling(false, 0), 0),
        (Order::AllocationTraces(false), 0),
        (Order::HeapSummary, 1),
        (Order::AllocSites { flags, cutoff }, 1),
        (Order::DumpTraces, 1),
        (Order::CpuSamples { cutoff }, 1),
        (Order::DumpHeap, 1),
        (Order::Sampling(true, 0), 0),
        (Order::AllocationTraces(true), 0),
    ] {
        program.write_all(&order.bytes(1))?;
        // A command that HPROF does not have.
        program.write_all(&[0x47, 0, 0, 0, 1, 0, 0, 0, 2, 9, 9])?;
        let so_far = ends(&stream);
        read_answers(&mut program, &mut stream, so_far + answers)?;
    }
    std::fs::write(folder.path().join("end"), "")?;
    program.set_read_timeout(None)?;
    program.read_to_end(&mut stream)?;
    let output = child.wait_with_output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    // The signal prints the threads, too.
    ensure!(output.status.success() && output.stdout.ends_with(b"done\n"));
    ensure!(said.contains("unknown command 0x47 is ignored"), "{said}");
    ensure!(said.contains("profile sent to 127.0.0.1:"), "{said}");
    ensure!(!folder.path().join("java.hprof").exists());
    ensure!(walk(&stream)[&0x2c] as usize == ends(&stream));
    let whole = contents(&stream)?;
    let mut numbers = [0; 4];
    for section in &whole.sections {
        match section {
            Section::Sites { rows, .. } => {
                let item = rows.iter().find(|row| row.class == "Hprof$Item");
                let item = item.context("no items")?;
                ensure!(item.live.objects == Some(1000), "{item:?}");
                let frame = whole.traces[&item.trace].frames.first();
                ensure!(
                    frame.is_some_and(|frame| frame.method == "keep"),
                    "{frame:?}"
                );
                numbers[0] += 1;
            }
            Section::Costs { rows, .. } => {
                ensure!(rows[0].name == "Hprof.burn", "{rows:?}");
                numbers[1] += 1;
            }
            Section::Summary(_) => numbers[2] += 1,
            Section::Heap(heap) => {
                ensure!(heap.objects > 1000);
                numbers[3] += 1;
            }
            Section::Monitors(_) | Section::Old(_) => bail!("not asked for: {section:?}"),
        }
    }
    // The signal and the end also send sites and costs, and each answer with sites has a summary of the heap.
    ensure!(numbers == [3, 3, 4, 1], "{numbers:?}");
    Ok(())
}

/// The command `EXIT` ends the program as its own `System.exit` would, and the stream is complete.
#[test]
fn the_program_ends_on_command() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    let mut java = command(17, folder.path(), "heap=all,cpu=times", port)?;
    let child = started(java.arg("end"))?;
    let (mut program, _) = listener.accept()?;
    let mut stream = Vec::new();
    read_answers(&mut program, &mut stream, 2)?;
    program.write_all(&Order::Exit.bytes(1))?;
    program.set_read_timeout(None)?;
    program.read_to_end(&mut stream)?;
    let output = child.wait_with_output()?;
    ensure!(
        output.status.success() && !output.stdout.ends_with(b"done\n"),
        "{output:?}"
    );
    let whole = contents(&stream)?;
    let heaps = whole.sections.iter();
    let heaps = heaps.filter(|section| matches!(section, Section::Heap(_)));
    ensure!(heaps.count() >= 1);
    ensure!(walk(&stream)[&0x2c] as usize == ends(&stream));
    Ok(())
}

/// Without a reader the program runs, and a message reports that nothing was written.
#[test]
fn a_missing_reader_is_told() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let output = finish(&mut command(17, folder.path(), "heap=sites", port)?)?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success() && output.stdout == b"done\n");
    ensure!(
        said.contains("Connection refused") && said.contains("loadhook hprof listen PORT"),
        "{said}"
    );
    ensure!(std::fs::read_dir(folder.path())?.count() == 0);
    Ok(())
}

/// A reader that goes away midway does not disturb the program. A message reports the loss.
#[test]
fn a_reader_that_is_gone_is_told() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    let child = started(&mut command(17, folder.path(), "heap=dump", port)?)?;
    let (mut program, _) = listener.accept()?;
    program.read_exact(&mut [0; 20])?;
    drop(program);
    let output = child.wait_with_output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success() && output.stdout == b"done\n");
    ensure!(
        said.contains("the last answer was not sent completely: 127.0.0.1:"),
        "{said}"
    );
    Ok(())
}

/// Lets `HprofNet` make its next 1,000 objects and do its next work.
fn next_round(folder: &Path, round: u32) -> Result<()> {
    std::fs::write(folder.join(format!("go-{round}")), "")?;
    let done = folder.join(format!("done-{round}"));
    wait_for("the end of a round", || done.exists().then_some(()))
}

/// Returns the number of objects of `HprofNet$Made` that the last answer counts.
fn made(stream: &[u8]) -> Result<u64> {
    let whole = contents(stream)?;
    let mut sections = whole.sections.iter().rev();
    let rows = sections.find_map(|section| match section {
        Section::Sites { rows, .. } => Some(rows),
        _ => None,
    });
    let rows = rows.context("no sites")?.iter();
    let rows = rows.filter(|row| row.class == "HprofNet$Made");
    Ok(rows.filter_map(|row| row.allocated.objects).sum())
}

/// Returns for each round of `HprofNet` whether the last answer has samples of its work.
fn worked(stream: &[u8]) -> Result<[bool; 3]> {
    let whole = contents(stream)?;
    let mut sections = whole.sections.iter().rev();
    let rows = sections.find_map(|section| match section {
        Section::Costs { rows, .. } => Some(rows),
        _ => None,
    });
    let rows = rows.context("no samples")?;
    Ok(["first", "second", "third"].map(|round| {
        rows.iter().any(|row| {
            let mut frames = whole.traces[&row.trace].frames.iter();
            frames.any(|frame| frame.method == round)
        })
    }))
}

/// Objects and samples do not count while a command has turned them off, and garbage is collected on command.
#[test]
fn commands_have_their_effects() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let folder = folder.path();
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    let options = "cpu=samples,interval=1,heap=sites,cutoff=0";
    let mut java = command_of("HprofNet", 21, folder, options, port)?;
    java.env("JAVA_TOOL_OPTIONS", "-XX:+UseSerialGC -Xlog:gc:file=gc.log");
    let child = started(&mut java)?;
    let (mut program, _) = listener.accept()?;
    let mut stream = Vec::new();
    read_answers(&mut program, &mut stream, 1)?;
    // Sends commands, then asks for sites and samples. Commands are carried out in their order, so the answers come
    // when all of them have been carried out. Returns how many garbage collections were forced meanwhile.
    let mut send = |orders: &[Order], stream: &mut Vec<u8>| -> Result<usize> {
        let forced = || -> Result<usize> {
            let log = std::fs::read_to_string(folder.join("gc.log"))?;
            Ok(log.matches("JvmtiEnv ForceGarbageCollection").count())
        };
        let before = forced()?;
        for order in orders {
            program.write_all(&order.bytes(1))?;
        }
        let (flags, cutoff) = (0, 0.0);
        for order in [
            Order::AllocSites { flags, cutoff },
            Order::CpuSamples { cutoff },
        ] {
            program.write_all(&order.bytes(1))?;
            let so_far = ends(stream);
            read_answers(&mut program, stream, so_far + 1)?;
        }
        Ok(forced()? - before)
    };
    next_round(folder, 1)?;
    send(&[], &mut stream)?;
    ensure!(made(&stream)? == 1000 && worked(&stream)? == [true, false, false]);
    let off = [Order::AllocationTraces(false), Order::Sampling(false, 0)];
    send(&off, &mut stream)?;
    next_round(folder, 2)?;
    send(&[], &mut stream)?;
    ensure!(made(&stream)? == 1000 && worked(&stream)? == [true, false, false]);
    let on = [Order::AllocationTraces(true), Order::Sampling(true, 0)];
    send(&on, &mut stream)?;
    next_round(folder, 3)?;
    // Each answer forces a collection of its own.
    let usual = send(&[], &mut stream)?;
    ensure!(made(&stream)? == 2000 && worked(&stream)? == [true, false, true]);
    let forced = send(&[Order::Collect], &mut stream)?;
    ensure!(forced == usual + 1, "{forced} {usual}");
    std::fs::write(folder.join("end"), "")?;
    program.set_read_timeout(None)?;
    program.read_to_end(&mut stream)?;
    let output = child.wait_with_output()?;
    ensure!(
        output.status.success() && output.stdout == b"done\n",
        "{output:?}"
    );
    Ok(())
}
