//! What classes are called.

use std::collections::HashMap;
use std::sync::Arc;

use crate::survey::Survey;

/// Names of classes, each kept once: many classes may have one long name.
pub(crate) struct ClassNames<'s> {
    survey: &'s Survey,
    by_text: HashMap<u64, Arc<str>>,
}

impl<'s> ClassNames<'s> {
    pub(crate) fn of(survey: &'s Survey) -> ClassNames<'s> {
        ClassNames {
            survey,
            by_text: HashMap::new(),
        }
    }

    /// As Java writes it.
    pub(crate) fn name(&mut self, class: u32) -> Arc<str> {
        let survey = self.survey;
        let name = || survey.name(class).into();
        match survey.loaded.get(&survey.entries[class as usize].id) {
            Some(text) => self.by_text.entry(*text).or_insert_with(name).clone(),
            None => name(),
        }
    }

    /// The same by its identifier; it may have a name and be dumped later.
    pub(crate) fn of_id(&mut self, id: u64) -> Option<Arc<str>> {
        let survey = self.survey;
        if let Some(class) = survey.class_of(id) {
            return Some(self.name(class));
        }
        let text = *survey.loaded.get(&id)?;
        let name = || java_name(&survey.text_of(text)).into();
        Some(self.by_text.entry(text).or_insert_with(name).clone())
    }
}

/// Of an array (JVMS §4.3.2).
const MOST_DIMENSIONS: usize = 255;

/// `[Ljava/lang/String;` as `java.lang.String[]`.
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
    fn names_grow_no_more_than_arrays_do() {
        assert_eq!(java_name("[[Ljava/lang/String;"), "java.lang.String[][]");
        assert_eq!(java_name(&("[".repeat(255) + "I")).len(), 3 + 2 * 255);
        let none = "[".repeat(60_000) + "I";
        assert_eq!(java_name(&none), none);
    }
}
