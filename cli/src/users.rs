//! Names of users.

use std::fs;

/// Returns the name of a user, or the number as text if `/etc/passwd` does not list the user.
pub(crate) fn name(user: u32) -> String {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    find(&users, user).unwrap_or_else(|| user.to_string())
}

fn find(users: &str, user: u32) -> Option<String> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let number = fields.nth(1)?;
        (number.parse() == Ok(user)).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_have_names() {
        let users = "root:x:0:0:root:/root:/bin/bash\nodd\napp:x:7:8::/:/bin/sh\n";
        assert_eq!(find(users, 0).as_deref(), Some("root"));
        assert_eq!(find(users, 7).as_deref(), Some("app"));
        assert_eq!(find(users, 8), None);
    }
}
