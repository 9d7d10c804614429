//! `loadhook heap PID -o FILE`: the virtual machine's own dumper.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};
use loadhook_profile::printable;
use rustix::fs::OFlags;
use rustix::process::geteuid;

use super::whole;
use crate::attach::{Answer, Jvm};
use crate::output::{PRIVATE, behind_links, check_writable, say};
use crate::signals;

/// Arguments for a dump.
#[derive(Debug, Args)]
pub(crate) struct DumpArgs {
    /// Dump the heap of a process to this file, in HPROF's binary format
    #[arg(short, long, value_name = "FILE",
        conflicts_with_all = ["top", "format", "by", "biggest", "path", "diff", "partial"])]
    output: Option<PathBuf>,

    /// Dump what no longer is reachable too; without, the virtual machine
    /// collects first
    #[arg(long)]
    all: bool,
}

impl DumpArgs {
    /// Whether any of them is.
    pub(super) fn is_given(&self) -> bool {
        self.output.is_some() || self.all
    }
}

/// Dumps the heap of a process.
pub(crate) fn dump(pid: u32, args: &DumpArgs) -> Result<ExitCode> {
    let Some(output) = &args.output else {
        bail!(
            "{pid} is a process id: where shall its heap go? -o FILE (a file of that name is ./{pid})"
        );
    };
    let jvm = Jvm::of(pid)?;
    // Before there is anything to take away again.
    let signal = signals::noted()?;
    let place = Place::new(&jvm, output)?;
    let progress = progress();
    let which = if args.all { "-all" } else { "-live" };
    let words = [
        OsStr::new("dumpheap"),
        place.as_seen.as_os_str(),
        OsStr::new(which),
        OsStr::new(""),
    ];
    let answer = jvm.order(words, || {
        progress.set_position(place.written());
        progress.tick();
        signal.code().is_none()
    });
    progress.finish_and_clear();
    let answer = answer.with_context(|| output.display().to_string())?;
    if let Some(code) = signal.code() {
        say!(
            "loadhook: given up; the virtual machine may go on with its dump for a while, and nothing of it stays"
        );
        return Ok(ExitCode::from(code));
    }
    let size = answer
        .context("given up")
        .and_then(|answer| place.put(&answer))
        .with_context(|| output.display().to_string())?;
    say!(
        "heap dump: {} ({})",
        crate::report::shown(output),
        HumanBytes(size)
    );
    Ok(ExitCode::SUCCESS)
}

/// Where a dump is written, and where it goes when it is whole.
struct Place {
    target: PathBuf,
    /// Holds the dump and whatever else the VM writes beside it. The VM can
    /// write nothing when this is gone, however late it begins.
    beside: tempfile::TempDir,
    /// The dump, as the VM names it.
    as_seen: PathBuf,
    /// The folder of all, open: a path through the process ends with it. The
    /// last field, since what is beside is removed through it.
    _folder: File,
}

/// The dump's name in a folder of its own.
const NAME: &str = "dump";

impl Place {
    fn new(jvm: &Jvm, output: &Path) -> Result<Place> {
        let name = || output.display().to_string();
        let target = behind_links(output);
        let Some(file_name) = target.file_name() else {
            bail!("{}: not a file", name());
        };
        let parent = target.parent().filter(|path| !path.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        fs::create_dir_all(parent).with_context(name)?;
        check_writable(output)?;
        let folder = File::open(parent).with_context(name)?;
        let as_seen = as_seen(jvm, parent, &folder).with_context(name)?;
        let ours = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
        let mut prefix = file_name.to_owned();
        prefix.push(".part-");
        let beside = tempfile::Builder::new()
            .prefix(&prefix)
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(&ours)
            .with_context(name)?;
        if geteuid().as_raw() != jvm.user() {
            chown(beside.path(), Some(jvm.user()), None).with_context(name)?;
        }
        let own_name = beside.path().file_name().unwrap_or_default();
        Ok(Place {
            target: ours.join(file_name),
            as_seen: as_seen.join(own_name).join(NAME),
            beside,
            _folder: folder,
        })
    }

    /// The bytes so far: newer VMs write parts, and join them.
    fn written(&self) -> u64 {
        let entries = fs::read_dir(self.beside.path()).into_iter().flatten();
        let sizes = entries.filter_map(|entry| Some(entry.ok()?.metadata().ok()?.len()));
        sizes.sum()
    }

    /// Gives a dump that is whole its name; its size.
    fn put(self, answer: &Answer) -> Result<u64> {
        let path = self.beside.path().join(NAME);
        let size = self.check(&path).with_context(|| {
            // The last line says what went wrong.
            let said = answer.text.trim().lines().last().unwrap_or("nothing");
            format!(
                "no whole dump (the virtual machine says: {})",
                printable(said)
            )
        })?;
        if !answer.accepted {
            bail!(
                "the virtual machine refuses: {}",
                printable(answer.text.trim())
            );
        }
        fs::rename(&path, &self.target)?;
        self.beside.close()?;
        Ok(size)
    }

    fn check(&self, path: &Path) -> Result<u64> {
        let mut options = File::options();
        let file = options.read(true);
        // The folder is the VM's user's.
        let file = file.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
        let file = file.open(path).context("nothing was written")?;
        whole::check(&file)?;
        file.set_permissions(Permissions::from_mode(PRIVATE))?;
        // Lest a crash of the machine leaves the new name and no data.
        file.sync_data()?;
        Ok(file.metadata()?.len())
    }
}

/// How the process names a folder of ours: it may live in a container.
fn as_seen(jvm: &Jvm, path: &Path, folder: &File) -> Result<PathBuf> {
    let root = jvm.root();
    let path = match std::path::absolute(path)?.strip_prefix(&root) {
        Ok(below) => Path::new("/").join(below),
        Err(_) => fs::canonicalize(path)?,
    };
    let identity = |found: fs::Metadata| (found.dev(), found.ino());
    let seen = fs::metadata(root.join(path.strip_prefix("/")?)).map(identity);
    if seen.ok() != Some(identity(folder.metadata()?)) {
        bail!(
            "the process does not see that folder: it has files of its own, as in a container; take one of those: -o {}/tmp/heap.hprof",
            root.display()
        );
    }
    Ok(path)
}

/// On a terminal, how much is written.
fn progress() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let style = "{spinner} {bytes} written, {elapsed}";
    bar.set_style(ProgressStyle::with_template(style).expect("a fixed template"));
    bar
}
