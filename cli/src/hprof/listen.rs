//! `loadhook hprof listen`: receives the stream that an agent with the option `net=` sends, and writes it to a file.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use loadhook_hprof::Command;
use loadhook_text::{bytes, printable};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use tempfile::NamedTempFile;

use super::orders;
use crate::output::{behind_links, check_writable, say};

/// The bytes with which each stream of HPROF begins.
const MAGIC: &[u8] = b"JAVA PROFILE 1.0.";

/// Time in which a program must send the beginning of its stream.
const PATIENCE: Duration = Duration::from_secs(10);

/// Interval at which signals are looked for while the stream is silent.
const TICK: Duration = Duration::from_millis(200);

/// Arguments of `loadhook hprof listen`.
#[derive(Debug, Args)]
pub(super) struct ListenArgs {
    /// The port of the program's option net=HOST:PORT; 0 takes a free one
    #[arg(value_name = "PORT")]
    port: u16,

    /// The file for the stream
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// The address to listen on. Every program that can reach it can write the file
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    bind: IpAddr,

    /// Send this command when the program has connected, instead of reading commands from standard input; may be
    /// repeated
    #[arg(long, value_name = "COMMAND", value_parser = orders::command)]
    send: Vec<Command>,
}

/// Runs the command: waits for a program, and writes the file when the program has ended.
pub(super) fn run(args: &ListenArgs) -> Result<()> {
    check_writable(&args.output)?;
    let address = SocketAddr::new(args.bind, args.port);
    let listener = TcpListener::bind(address).with_context(|| address.to_string())?;
    let address = listener.local_addr()?;
    say!("waiting for a program with the option hprof:net={address}");
    let (mut stream, from) = program(&listener)?;
    // Stop listening. Otherwise a second program could connect, and would wait for ever.
    drop(listener);
    say!("{from} has connected");
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        flag::register(signal, stop.clone()).context("cannot handle signals")?;
    }
    orders::send(stream.try_clone()?, &args.send);
    let name = printable(&args.output.display().to_string()).into_owned();
    let taken = take(&mut stream, &args.output, &stop).with_context(|| name.clone())?;
    let size = bytes(taken.bytes);
    say!("{name}: {size} from {from}; loadhook hprof {name} shows it");
    match taken.fault {
        Some(fault) => bail!("{name}: the stream, and so the file, ended too early: {fault}"),
        None => Ok(()),
    }
}

/// Waits for a connection that sends [`MAGIC`] first. Returns the connection after these bytes.
fn program(listener: &TcpListener) -> Result<(TcpStream, SocketAddr)> {
    loop {
        let (stream, from) = listener.accept()?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut begin = [0; MAGIC.len()];
        match (&stream).read_exact(&mut begin) {
            Ok(()) if begin == MAGIC => {
                stream.set_read_timeout(Some(TICK))?;
                return Ok((stream, from));
            }
            _ => say!("{from} was disconnected, because it is no program with the option net="),
        }
    }
}

/// A stream that was taken into a file.
struct Taken {
    bytes: u64,
    /// The reason why the stream ended too early; `None` if it is complete.
    fault: Option<String>,
}

/// Writes the stream, of which [`MAGIC`] was read already, to a temporary file beside `output`, and
/// renames the file to `output`. Ends early when `stop` becomes true.
fn take(stream: &mut TcpStream, output: &Path, stop: &AtomicBool) -> Result<Taken> {
    let target = behind_links(output);
    let folder = target
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    builder.prefix(".loadhook-").suffix(".tmp");
    let mut file: NamedTempFile = builder.tempfile_in(folder.unwrap_or(Path::new(".")))?;
    file.write_all(MAGIC)?;
    let mut taken = Taken {
        bytes: MAGIC.len() as u64,
        fault: None,
    };
    let mut buffer = vec![0; 64 << 10];
    while taken.fault.is_none() {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => {
                match file.write_all(buffer.get(..read).unwrap_or_default()) {
                    Ok(()) => taken.bytes += read as u64,
                    // The tables that came before are complete, so the file is kept.
                    Err(error) => taken.fault = Some(error.to_string()),
                }
            }
            Err(error) if is_wait(&error) => {}
            Err(error) => taken.fault = Some(error.to_string()),
        }
        if stop.load(Ordering::Relaxed) {
            taken.fault = Some("it was interrupted".to_owned());
        }
    }
    file.persist(&target).map_err(|error| error.error)?;
    Ok(taken)
}

fn is_wait(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}
