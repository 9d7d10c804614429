//! Finds how much memory is free for a dump.

use std::fs;
use std::path::Path;

/// Returns the bytes that this process can still take without swapping. Considers the machine's free memory and the
/// limits of the process's control groups, as far as these can be read. Memory with cached files counts as free.
pub(super) fn free() -> u64 {
    free_below(Path::new("/"))
}

/// Returns the free memory in bytes, from the files below `root`.
fn free_below(root: &Path) -> u64 {
    let read = |file: &str| fs::read_to_string(root.join(file)).unwrap_or_default();
    let of_machine = number(&read("proc/meminfo"), "MemAvailable:");
    let mut free = of_machine.map_or(u64::MAX, |kilobytes| kilobytes.saturating_mul(1024));
    // A line for control groups of version 2 is `0::/path`. A line for version 1 is `4:memory:/path`.
    for line in read("proc/self/cgroup").lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
            continue;
        };
        let mount = match controllers {
            "" => root.join("sys/fs/cgroup"),
            _ if controllers.split(',').any(|it| it == "memory") => {
                root.join("sys/fs/cgroup/memory")
            }
            _ => continue,
        };
        // The limits of parent groups apply as well. In a container, the folder of the group may be the mount point
        // itself.
        for group in Path::new(path.trim_start_matches('/')).ancestors() {
            free = free.min(room(&mount.join(group)).unwrap_or(u64::MAX));
        }
    }
    free
}

/// Returns the bytes that the processes of a control group can still take; `None` if it has no limit.
fn room(group: &Path) -> Option<u64> {
    let read = |file: &str| fs::read_to_string(group.join(file)).ok();
    let bytes = |file: &str| read(file)?.trim().parse::<u64>().ok();
    let second = || bytes("memory.max").zip(bytes("memory.current"));
    let first = || bytes("memory.limit_in_bytes").zip(bytes("memory.usage_in_bytes"));
    let (limit, used) = second().or_else(first)?;
    let stat = read("memory.stat").unwrap_or_default();
    let of_files = ["active_file", "inactive_file"].map(|name| number(&stat, name).unwrap_or(0));
    let used = used.saturating_sub(of_files.iter().sum());
    Some(limit.saturating_sub(used))
}

/// Returns the number that follows a name in the line that begins with this name.
fn number(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().map(str::split_whitespace);
    let mut words = lines.find_map(|mut words| (words.next() == Some(name)).then_some(words))?;
    words.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_groups_limit_the_memory() {
        let root = tempfile::tempdir().expect("a folder");
        let write = |file: &str, text: &str| {
            let file = root.path().join(file);
            fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            fs::write(file, text).expect("a file");
        };
        assert_eq!(free_below(root.path()), u64::MAX, "nothing is known");
        write("proc/meminfo", "MemFree: 1 kB\nMemAvailable:  1000 kB\n");
        write("proc/self/cgroup", "4:cpu,memory:/a\n0::/a/b\n");
        assert_eq!(free_below(root.path()), 1_024_000);
        let group = "sys/fs/cgroup/a";
        write(&format!("{group}/b/memory.max"), "max\n");
        write(&format!("{group}/memory.max"), "500000\n");
        write(&format!("{group}/memory.current"), "400000\n");
        write(
            &format!("{group}/memory.stat"),
            "anon 7\nactive_file 30000\ninactive_file 50000\n",
        );
        assert_eq!(free_below(root.path()), 180_000);
        let group = "sys/fs/cgroup/memory";
        write(&format!("{group}/memory.limit_in_bytes"), "90\n");
        write(&format!("{group}/memory.usage_in_bytes"), "100\n");
        assert_eq!(free_below(root.path()), 0);
    }
}
