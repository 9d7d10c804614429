//! The memory that views of a dump, or the tags of a walk, may take.

use std::fs;
use std::path::{Path, PathBuf};

/// Bytes that the command itself takes, for example for names, classes and buffers. The names of a
/// large program take some 20 MB.
const BESIDE: u64 = 32 << 20;

/// Returns the bytes that a view of a dump may take.
pub(super) fn available_for_views() -> u64 {
    let bytes = available_in(Path::new("/"), "self");
    bytes.map_or(u64::MAX, |bytes| bytes.saturating_sub(BESIDE) / 4 * 3)
}

/// Returns the bytes that the tags of a walk may take in another process, which continues to run.
pub(super) fn available_for_tags(pid: u32) -> u64 {
    let bytes = available_in(Path::new("/"), &pid.to_string());
    bytes.map_or(u64::MAX, |bytes| bytes / 2)
}

/// Returns the bytes that a process can allocate without swapping, within its own limits and those
/// of its control groups, as far as these can be read. Cached pages of files count as free. `root`
/// is the folder that contains `proc`.
fn available_in(root: &Path, process: &str) -> Option<u64> {
    let proc = root.join("proc");
    let read = |file: &str| fs::read_to_string(proc.join(file)).unwrap_or_default();
    let groups = read(&format!("{process}/cgroup"));
    // The mounts are those of this process, since a process in a container may have other paths.
    let mounts = read("self/mountinfo");
    let of_machine = fs::read_to_string(root.join("proc/meminfo"));
    let of_machine = of_machine
        .ok()
        .and_then(|text| kilobytes(&text, "MemAvailable:"));
    let of_groups = mounts
        .lines()
        .filter_map(|line| Mount::of(line, &groups))
        .filter_map(|mount| mount.room(root));
    let limits = read(&format!("{process}/limits"));
    let status = read(&format!("{process}/status"));
    let own = LIMITS.iter().filter_map(|(limit, used)| {
        // The limits below count all mapped bytes, also those that are not in
        // memory, for example of mapped files and of stacks.
        let used = kilobytes(&status, used).unwrap_or(0);
        Some(soft_limit(&limits, limit)?.saturating_sub(used))
    });
    of_machine.into_iter().chain(of_groups).chain(own).min()
}

/// The limits that `ulimit -v` and `-d` set, and the values of a process that they limit.
const LIMITS: [(&str, &str); 2] = [
    ("Max address space", "VmSize:"),
    ("Max data size", "VmData:"),
];

/// Reads a limit of a process from a line such as `Max address space  1048576  unlimited  bytes`;
/// `None` if there is no limit.
fn soft_limit(limits: &str, name: &str) -> Option<u64> {
    let mut lines = limits.lines();
    let values = lines.find_map(|line| line.strip_prefix(name))?;
    values.split_whitespace().next()?.parse().ok()
}

fn kilobytes(text: &str, name: &str) -> Option<u64> {
    Some(number(text, name)? * 1024)
}

/// Returns the number after a name in a file of `/proc`.
fn number(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().map(str::split_whitespace);
    let mut words = lines.find_map(|mut words| (words.next() == Some(name)).then_some(words))?;
    words.next()?.parse().ok()
}

/// The file names in one version of control groups.
struct Names {
    limits: &'static [&'static str],
    used: &'static str,
    files: [&'static str; 2],
}

const VERSION_1: Names = Names {
    limits: &["memory.limit_in_bytes"],
    used: "memory.usage_in_bytes",
    files: ["total_active_file", "total_inactive_file"],
};

const VERSION_2: Names = Names {
    limits: &["memory.max", "memory.high"],
    used: "memory.current",
    files: ["active_file", "inactive_file"],
};

/// A mount of control groups for memory, and the group of the process in it.
struct Mount {
    names: &'static Names,
    at: PathBuf,
    group: PathBuf,
}

impl Mount {
    /// Parses a line of `mountinfo` (`30 23 0:26 /root /at options - type source options`), and
    /// finds the process's group in the lines of `cgroup` (`4:memory:/path`, `0::/path`).
    fn of(line: &str, groups: &str) -> Option<Mount> {
        let (before, after) = line.split_once(" - ")?;
        let mut before = before.split(' ').skip(3);
        let (root, at) = (before.next()?, before.next()?);
        let mut after = after.split(' ');
        let names = match (after.next()?, after.nth(1)) {
            ("cgroup2", _) => &VERSION_2,
            ("cgroup", Some(options)) if options.split(',').any(|it| it == "memory") => &VERSION_1,
            _ => return None,
        };
        let is_of = |controllers: &str| match names.limits {
            [_] => controllers.split(',').any(|it| it == "memory"),
            _ => controllers.is_empty(),
        };
        let group = groups.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            is_of(controllers).then_some(path)
        })?;
        // In a container the group's folder may be the root of the mount.
        let below = Path::new(group).strip_prefix(root).unwrap_or(Path::new(""));
        Some(Mount {
            names,
            at: PathBuf::from(at),
            group: below.to_owned(),
        })
    }

    /// Returns the smallest memory that is left in the group or one of its parents.
    fn room(&self, root: &Path) -> Option<u64> {
        let at = root.join(self.at.strip_prefix("/").ok()?);
        let ways = self.group.ancestors().map(|group| at.join(group));
        ways.filter_map(|group| self.left(&group)).min()
    }

    fn left(&self, group: &Path) -> Option<u64> {
        let read = |file: &str| fs::read_to_string(group.join(file)).ok();
        let value = |file: &&str| read(file)?.trim().parse::<u64>().ok();
        let limit = self.names.limits.iter().filter_map(value).min()?;
        let used = value(&self.names.used).unwrap_or(0);
        // The kernel drops cached pages of files when memory is needed.
        let statistics = read("memory.stat").unwrap_or_default();
        let files = self.names.files.iter();
        let files: u64 = files.filter_map(|name| number(&statistics, name)).sum();
        Some(limit.saturating_sub(used.saturating_sub(files)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a temporary folder can be created");
        for (file, text) in files {
            let file = folder.path().join(file);
            fs::create_dir_all(file.parent().expect("the file is in a folder"))
                .expect("the test folder can be created");
            fs::write(file, text).expect("the test file can be written");
        }
        folder
    }

    const MEMINFO: (&str, &str) = (
        "proc/meminfo",
        "MemTotal:       24683812 kB\nMemFree:         1000000 kB\nMemAvailable:    2000000 kB\n",
    );

    #[test]
    fn without_control_groups_the_memory_of_the_machine_counts() {
        assert_eq!(
            available_in(system(&[MEMINFO]).path(), "self"),
            Some(2_048_000_000)
        );
        assert_eq!(available_in(system(&[]).path(), "self"), None);
        assert!(available_in(Path::new("/"), "self").is_some_and(|bytes| bytes > 1 << 20));
    }

    #[test]
    fn control_groups_of_version_2_and_their_parents_limit_memory() {
        let mount = "30 23 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
        let files = [
            MEMINFO,
            ("proc/self/cgroup", "0::/outer/inner\n"),
            ("proc/self/mountinfo", mount),
            ("sys/fs/cgroup/outer/inner/memory.max", "max\n"),
            ("sys/fs/cgroup/outer/inner/memory.current", "5000\n"),
            ("sys/fs/cgroup/outer/memory.max", "1000000\n"),
            ("sys/fs/cgroup/outer/memory.current", "600000\n"),
            (
                "sys/fs/cgroup/outer/memory.stat",
                "anon 300000\nfile 310000\ninactive_file 200000\nactive_file 100000\n",
            ),
        ];
        assert_eq!(available_in(system(&files).path(), "self"), Some(700_000));
        let inner = ("sys/fs/cgroup/outer/inner/memory.high", "10000\n");
        let files = [&files[..], &[inner]].concat();
        assert_eq!(available_in(system(&files).path(), "self"), Some(5_000));
        // A group that uses more than its limit.
        let full = ("sys/fs/cgroup/outer/inner/memory.current", "20000\n");
        let files = [&files[..], &[full]].concat();
        assert_eq!(available_in(system(&files).path(), "self"), Some(0));
    }

    /// `ulimit -v` and `-d` set these limits. Bytes that are mapped already count.
    #[test]
    fn limits_of_the_process_count() {
        let limits = |space: &str, data: &str| {
            format!(
                "Limit                     Soft Limit           Hard Limit           Units\n\
                 Max data size             {data}            unlimited            bytes\n\
                 Max address space         {space}            unlimited            bytes\n"
            )
        };
        let status = "Name:\tloadhook\nVmSize:\t     300 kB\nVmData:\t     100 kB\n";
        let room = |space, data| {
            let limits = limits(space, data);
            let files = [
                MEMINFO,
                ("proc/self/limits", &*limits),
                ("proc/self/status", status),
            ];
            available_in(system(&files).path(), "self")
        };
        assert_eq!(room("unlimited", "unlimited"), Some(2_048_000_000));
        assert_eq!(room("1024000", "unlimited"), Some(700 * 1024));
        assert_eq!(room("unlimited", "204800"), Some(100 * 1024));
        assert_eq!(room("1024", "204800"), Some(0));
    }

    /// The limits of the other process apply, not those of this command.
    #[test]
    fn a_process_has_the_room_of_its_own_groups() {
        let mount = "30 23 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
        let files = [
            MEMINFO,
            ("proc/self/cgroup", "0::/ours\n"),
            ("proc/7/cgroup", "0::/theirs\n"),
            ("proc/self/mountinfo", mount),
            ("sys/fs/cgroup/ours/memory.max", "1000\n"),
            ("sys/fs/cgroup/theirs/memory.max", "400000\n"),
            ("sys/fs/cgroup/theirs/memory.current", "399000\n"),
            (
                "sys/fs/cgroup/theirs/memory.stat",
                "anon 16000\ninactive_file 380000\n",
            ),
        ];
        let system = system(&files);
        assert_eq!(available_in(system.path(), "self"), Some(1_000));
        assert_eq!(available_in(system.path(), "7"), Some(381_000));
    }

    #[test]
    fn control_groups_of_version_1_limit_memory_in_a_container() {
        let mounts = "\
            31 23 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
            32 23 0:28 /box /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n\
            33 23 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let files = [
            MEMINFO,
            ("proc/self/cgroup", "5:cpu:/box\n4:memory:/box\n0::/\n"),
            ("proc/self/mountinfo", mounts),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "500000\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "400000\n"),
            (
                "sys/fs/cgroup/memory/memory.stat",
                "inactive_file 1\ntotal_inactive_file 50000\ntotal_active_file 20000\n",
            ),
        ];
        assert_eq!(available_in(system(&files).path(), "self"), Some(170_000));
        // A group without a limit has a number that exceeds the memory of any machine.
        let none = (
            "sys/fs/cgroup/memory/memory.limit_in_bytes",
            "9223372036854771712\n",
        );
        let files = [&files[..], &[none]].concat();
        assert_eq!(
            available_in(system(&files).path(), "self"),
            Some(2_048_000_000)
        );
    }
}
