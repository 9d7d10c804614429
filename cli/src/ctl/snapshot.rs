//! `loadhook ctl PID snapshot`: the agent writes the profile into a private folder in `/tmp` of the process, from which
//! it is copied to its place. So it does not matter which files the process sees and may write.

use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};
use loadhook_settings::control::{Reply, Request};

use super::connection::Agent;
use crate::agent_path::utf8;
use crate::jvm::{Jvm, StagingDir};
use crate::output::{PRIVATE, say, write_beside};

/// Prefix of the folder's name. The agent writes only to a folder with such a name that belongs to the JVM's user.
const PREFIX: &str = ".loadhook-ctl-";

/// Name of the profile in the folder.
const PROFILE: &str = "snapshot.pb.gz";

/// Maximum number of bytes of a profile that are read, because another user may own the process.
const LONGEST_PROFILE: u64 = 1 << 30;

/// The folder in which the agent writes profiles. It is removed when this value is dropped.
pub(crate) struct Snapshots {
    staging: StagingDir,
    /// The path of the profile as the process sees it.
    as_seen: String,
}

/// The answer to the order to write a profile.
pub(crate) enum Snapshot {
    /// The bytes of the profile.
    Taken(Vec<u8>),
    /// The agent's reason for not writing a profile now.
    Refused(String),
}

impl Snapshots {
    pub(crate) fn new(jvm: &Jvm) -> Result<Snapshots> {
        let pid = jvm.pid();
        let failed = || {
            format!(
                "cannot make a folder in /tmp of process {pid} (is it full, or mounted read-only?)"
            )
        };
        StagingDir::remove_abandoned(&jvm.tmp(), PREFIX, jvm.user());
        let staging =
            StagingDir::new(&jvm.tmp(), OsStr::new(PREFIX), jvm.user()).with_context(failed)?;
        staging.hold().with_context(failed)?;
        let as_seen = Path::new("/tmp").join(staging.name()).join(PROFILE);
        let as_seen = utf8(&as_seen)?.to_owned();
        Ok(Snapshots { staging, as_seen })
    }

    /// Makes the agent write a profile of everything recorded so far, and reads the profile.
    pub(crate) fn take(&self, agent: &mut Agent<'_>) -> Result<Snapshot> {
        match agent.ask(&Request::Snapshot(self.as_seen.clone()))? {
            Reply::Done => {}
            Reply::Error(error) => return Ok(Snapshot::Refused(error)),
            other => bail!(
                "unexpected reply to the order snapshot; use a loadhook of the agent's version: {other}"
            ),
        }
        let mut profile = Vec::new();
        let read = self
            .staging
            .open(PROFILE)
            .and_then(|written| written.take(LONGEST_PROFILE + 1).read_to_end(&mut profile));
        read.context("cannot read the profile that the agent wrote")?;
        if profile.len() as u64 > LONGEST_PROFILE {
            bail!(
                "the profile has more than 1 GiB, too much for this order; use --snapshot-every, or detach the agent"
            );
        }
        Ok(Snapshot::Taken(profile))
    }
}

/// Makes the agent write a profile of everything recorded so far, and copies the profile to `file`.
pub(super) fn take(jvm: &Jvm, agent: &mut Agent<'_>, file: &Path) -> Result<()> {
    let profile = match Snapshots::new(jvm)?.take(agent)? {
        Snapshot::Taken(profile) => profile,
        Snapshot::Refused(error) => bail!("{error}"),
    };
    write_beside(file, &profile, PRIVATE)?;
    say!(
        "loadhook: profile of process {} so far: {} (as a table: loadhook report {1})",
        jvm.pid(),
        file.display()
    );
    Ok(())
}
