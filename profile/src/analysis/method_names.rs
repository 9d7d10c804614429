//! The names of methods on screen.

use std::collections::HashMap;

use loadhook_text::java::parameters;

use crate::model::Method;

/// Returns one name for each method: `com.example.Service.handle`. Overloads get their parameters,
/// `handle(String, int[])`. A method that two loaders define gets its loader.
pub(crate) fn names(methods: &[Method]) -> Vec<String> {
    let mut plain: HashMap<(&str, &str), u32> = HashMap::new();
    let mut whole: HashMap<(&str, &str, &str), u32> = HashMap::new();
    for method in methods {
        *whole
            .entry((&method.class, &method.name, &method.descriptor))
            .or_default() += 1;
    }
    for (class, name, _) in whole.keys() {
        *plain.entry((class, name)).or_default() += 1;
    }
    let name = |method: &Method| {
        let mut text = method.class.to_string();
        if !method.name.is_empty() {
            text.push('.');
            text.push_str(&method.name);
        }
        if plain[&(&*method.class, &*method.name)] > 1 {
            text.push_str(&parameters(&method.descriptor));
        }
        if whole[&(&*method.class, &*method.name, &*method.descriptor)] > 1 {
            let loader = match &*method.loader {
                "" => "bootstrap",
                loader => loader,
            };
            text.push_str(" @");
            text.push_str(loader);
        }
        text
    };
    methods.iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_as_short_as_they_can_be() {
        let mut methods = vec![
            Method::new("a.B", "once", "(I)V"),
            Method::new("a.B", "twice", "(Ljava/lang/String;[[I)V"),
            Method::new("a.B", "twice", "()V"),
            Method::new("a.C", "run", "()V"),
            Method::new("a.C", "run", "()V"),
            Method::overflow(),
            Method::new("a.D", "odd", "(LI;Q)V"),
            Method::new("a.D", "odd", "(LI;)V"),
        ];
        methods[4].loader = "app".into();
        let expected = [
            "a.B.once",
            "a.B.twice(String, int[][])",
            "a.B.twice()",
            "a.C.run @bootstrap",
            "a.C.run @app",
            "(tree full)",
            "a.D.odd(LI;Q)V",
            "a.D.odd(I)",
        ];
        assert_eq!(names(&methods), expected);
    }
}
