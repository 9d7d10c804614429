//! How much memory the process can still have.

use std::fs;
use std::path::Path;

/// Bytes that are free, of the machine and of the control groups that the
/// process is in (cgroups(7)); `None` where nobody says.
pub(super) fn free() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let of_groups = free_in_groups(Path::new("/sys/fs/cgroup"), &groups);
    let of_machine = fs::read_to_string("/proc/meminfo").ok();
    let of_machine = of_machine.and_then(|text| available(&text));
    of_groups.into_iter().chain(of_machine).min()
}

/// What proc_meminfo(5) says.
fn available(text: &str) -> Option<u64> {
    let mut lines = text.lines();
    let line = lines.find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// Of the groups and those around them. In a container the group's path may be
/// the host's: what is not there is left out.
fn free_in_groups(root: &Path, groups: &str) -> Option<u64> {
    let mut least: Option<u64> = None;
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
            continue;
        };
        let (root, limit, usage) = match controllers {
            "" => (root.to_owned(), "memory.max", "memory.current"),
            "memory" => (
                root.join("memory"),
                "memory.limit_in_bytes",
                "memory.usage_in_bytes",
            ),
            _ => continue,
        };
        let path = path.trim_start_matches('/');
        for group in Path::new(path).ancestors() {
            let number = |name| -> Option<u64> {
                let text = fs::read_to_string(root.join(group).join(name)).ok()?;
                // No limit is the word `max`.
                text.trim().parse().ok()
            };
            if let (Some(limit), Some(usage)) = (number(limit), number(usage)) {
                let free = limit.saturating_sub(usage);
                least = Some(least.map_or(free, |least| least.min(free)));
            }
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tightest_group_counts() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = folder.path();
        for (group, limit, usage) in [("", "max", "9"), ("a", "1000", "300"), ("a/b", "900", "10")]
        {
            fs::create_dir_all(root.join(group)).expect("ours");
            fs::write(root.join(group).join("memory.max"), format!("{limit}\n")).expect("ours");
            fs::write(root.join(group).join("memory.current"), usage).expect("ours");
        }
        let old = root.join("memory/c");
        fs::create_dir_all(&old).expect("ours");
        fs::write(old.join("memory.limit_in_bytes"), "50\n").expect("ours");
        fs::write(old.join("memory.usage_in_bytes"), "60\n").expect("ours");
        for (groups, free) in [
            ("0::/a/b\n", Some(700)),
            ("0::/a\n", Some(700)),
            ("0::/\n", None),
            ("0::/of/the/host\n", None),
            ("4:memory:/c\n0::/a\n", Some(0)),
            ("4:cpu:/c\n", None),
            ("odd\n", None),
        ] {
            assert_eq!(free_in_groups(root, groups), free, "{groups}");
        }
        assert_eq!(
            available("MemFree: 1 kB\nMemAvailable:   20 kB\n"),
            Some(20_480)
        );
        assert_eq!(available(""), None);
    }
}
