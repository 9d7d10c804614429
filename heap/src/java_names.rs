//! Names of classes as Java writes them.

/// The maximum number of dimensions of an array type (JVMS §4.3.2).
const MOST_DIMENSIONS: usize = 255;

/// Turns an internal name such as `[Ljava/lang/String;` into `java.lang.String[]`.
pub(crate) fn java_name(name: &str) -> String {
    let element = name.trim_start_matches('[');
    let depth = name.len() - element.len();
    if depth > MOST_DIMENSIONS {
        return name.to_owned();
    }
    let element = match (depth, element) {
        (0, class) => class,
        (_, "Z") => "boolean",
        (_, "C") => "char",
        (_, "F") => "float",
        (_, "D") => "double",
        (_, "B") => "byte",
        (_, "S") => "short",
        (_, "I") => "int",
        (_, "J") => "long",
        (_, class) => {
            let inner = class
                .strip_prefix('L')
                .and_then(|class| class.strip_suffix(';'));
            inner.unwrap_or(class)
        }
    };
    element.replace('/', ".") + &"[]".repeat(depth)
}

#[cfg(test)]
mod tests {
    use super::java_name;

    #[test]
    fn a_name_with_too_many_dimensions_stays_as_it_is() {
        assert_eq!(java_name("[[Ljava/lang/String;"), "java.lang.String[][]");
        assert_eq!(java_name(&("[".repeat(255) + "I")).len(), 3 + 2 * 255);
        let none = "[".repeat(60_000) + "I";
        assert_eq!(java_name(&none), none);
    }
}
