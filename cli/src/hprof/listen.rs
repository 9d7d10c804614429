//! `loadhook hprof listen`: the other end of the agent's option `net=`. It takes one program's stream into a file.

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

/// The beginning of all streams.
const MAGIC: &[u8] = b"JAVA PROFILE 1.0.";

/// The time for the beginning of a stream.
const PATIENCE: Duration = Duration::from_secs(10);

/// The interval at which signals are looked for.
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

    /// The address at which programs are awaited. Who can reach it can write the file
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    bind: IpAddr,

    /// Send this command when the program has connected, instead of those that standard input has; may be repeated
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
    // A second program would wait for ever.
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
        Some(fault) => bail!("{name}: the file ends where the stream did: {fault}"),
        None => Ok(()),
    }
}

/// Waits for a connection that begins as a stream does. The begin was read.
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
            _ => say!("{from} has connected, but is no program with the option net="),
        }
    }
}

/// A stream that was taken into a file.
struct Taken {
    bytes: u64,
    /// The reason why the stream has ended too early.
    fault: Option<String>,
}

/// Takes the stream, whose begin was read, into a file beside `output`, and renames it. Ends early
/// when `stop` becomes true.
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
                    // The answers before are whole, so the file is kept.
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
