//! Names of classes, each stored once.

use std::collections::HashMap;
use std::sync::Arc;

use crate::java_names::java_name;
use crate::survey::Survey;

/// Names of classes. Each name is stored once, because in a hostile dump many classes may share one long name.
pub(crate) struct ClassNames<'s> {
    survey: &'s Survey,
    by_text: HashMap<u64, Arc<str>>,
}

impl<'s> ClassNames<'s> {
    pub(crate) fn new(survey: &'s Survey) -> ClassNames<'s> {
        ClassNames {
            survey,
            by_text: HashMap::new(),
        }
    }

    /// Returns the name of a class in Java.
    pub(crate) fn name(&mut self, class: u32) -> Arc<str> {
        let survey = self.survey;
        let name = || survey.name(class).into();
        match survey.name_of_class.get(&survey.classes[class as usize].id) {
            Some(text) => self.by_text.entry(*text).or_insert_with(name).clone(),
            None => name(),
        }
    }

    /// Returns the name of the class with this identifier. The class itself need not be in the
    /// dump.
    pub(crate) fn name_of_id(&mut self, id: u64) -> Option<Arc<str>> {
        let survey = self.survey;
        if let Some(class) = survey.class_index(id) {
            return Some(self.name(class));
        }
        let text = *survey.name_of_class.get(&id)?;
        let name = || java_name(&survey.text(text)).into();
        Some(self.by_text.entry(text).or_insert_with(name).clone())
    }
}
