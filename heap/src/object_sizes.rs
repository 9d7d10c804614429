//! Sizes of objects in memory, computed from the layouts of their classes.

use loadhook_hprof::Type;

use crate::layout::{Layout, SizeModel, hidden_fields};
use crate::object_kind::{PRIMITIVES, element_type};
use crate::stack_chunks::stack_bytes;
use crate::survey::Survey;

/// The layout of each class's instances.
pub(crate) struct ObjectSizes<'s> {
    survey: &'s Survey,
    pub(crate) model: SizeModel,
    layouts: Vec<Option<Layout>>,
    /// Bytes of an instance of `java.lang.Class`, before the static fields of the class that
    /// it represents.
    class_object: u32,
}

impl<'s> ObjectSizes<'s> {
    pub(crate) fn new(survey: &'s Survey) -> ObjectSizes<'s> {
        let mut sizes = ObjectSizes {
            survey,
            model: survey.size_model(),
            layouts: vec![None; survey.classes.len()],
            class_object: 0,
        };
        for class in 0..survey.classes.len() as u32 {
            sizes.lay_out(class);
        }
        let class_layout = survey
            .java_lang_class()
            .and_then(|class| sizes.layouts[class as usize].as_ref());
        sizes.class_object = class_layout.map_or(0, Layout::size);
        sizes
    }

    /// Computes the layout of a class, and of those superclasses whose layout is not known yet.
    fn lay_out(&mut self, class: u32) {
        let survey = self.survey;
        let mut pending = Vec::new();
        let mut layout = Layout::after(self.model.header);
        let mut next = Some(class);
        while let Some(class) = next {
            match &self.layouts[class as usize] {
                Some(known) => {
                    layout = known.clone();
                    break;
                }
                // In a broken dump, a class may be its own superclass. Then the entry made here
                // ends the search.
                None => self.layouts[class as usize] = Some(layout.clone()),
            }
            pending.push(class);
            next = survey.superclass(class);
        }
        for class in pending.into_iter().rev() {
            let dump = survey.classes[class as usize].dump.as_ref();
            let fields = || dump.into_iter().flat_map(|dump| &dump.fields);
            let is =
                |id: &u64, name: &[u8]| survey.names.get(id).is_some_and(|text| **text == *name);
            let hidden = hidden_fields(survey.internal_name(class), |name| {
                fields().any(|field| is(&field.name, name))
            });
            let declared = fields().map(|field| field.value_type);
            layout.add(declared.chain(hidden.iter().copied()), self.model.reference);
            self.layouts[class as usize] = Some(layout.clone());
        }
    }

    /// Returns the number of bytes of an instance. For a `StackChunk`, the stack that follows its fields is not
    /// included.
    pub(crate) fn instance(&self, class: u32) -> u64 {
        let laid_out = self.layouts[class as usize].as_ref();
        let laid_out = laid_out.map_or(0, |layout| u64::from(layout.size()));
        match self.survey.classes[class as usize].distance {
            // An instance is no larger than the distance to the next object.
            distance if distance >= 8 => laid_out.min(distance),
            _ => laid_out,
        }
    }

    /// Returns the number of bytes of all instances of a class.
    pub(crate) fn instances(&self, class: u32) -> u64 {
        let entry = &self.survey.classes[class as usize];
        let chunks = self.survey.stack_chunks.as_ref();
        let chunks = chunks.filter(|chunks| chunks.class == entry.id);
        let stacks = chunks.map_or(0, |chunks| chunks.bytes(self.model.reference));
        let each = self.instance(class);
        entry.instances.saturating_mul(each).saturating_add(stacks)
    }

    /// Returns the number of bytes of the stack that follows a `StackChunk` with these field values; 0 for
    /// other objects.
    pub(crate) fn stack(&self, class: u32, fields: &[u8]) -> u64 {
        let id = self.survey.classes[class as usize].id;
        let chunks = self.survey.stack_chunks.as_ref();
        let chunks = chunks.filter(|chunks| chunks.class == id);
        let words = chunks.map_or(0, |chunks| chunks.words(fields));
        stack_bytes(words, self.model.reference)
    }

    /// Returns the number of bytes of a class object, including the static fields of the class that it
    /// represents.
    pub(crate) fn class_object(&self, class: u32) -> u64 {
        let survey = self.survey;
        let mut layout = Layout::after(self.class_object);
        if let Some(dump) = &survey.classes[class as usize].dump {
            // Some dumps have entries such as `<resolved_references>`, which are not fields.
            let is_field = |name| {
                let name = survey.names.get(name);
                name.is_none_or(|name| !name.starts_with(b"<"))
            };
            let fields = dump.statics.iter().filter(|field| is_field(&field.name));
            layout.add(fields.map(|field| field.value_type), self.model.reference);
        }
        layout.size().into()
    }

    /// Returns the number of bytes of all arrays of a class.
    pub(crate) fn arrays(&self, class: u32) -> u64 {
        let entry = &self.survey.classes[class as usize];
        let element_size = match class {
            PRIMITIVES.. => self.model.reference,
            class => element_type(class).size(4),
        };
        let base = self.model.base(element_size);
        let (before, elements) = match (element_size, base % 8) {
            (8, _) => (base, entry.elements.wide_references),
            (_, 4) => (base - 4, entry.elements.behind_4_bytes),
            _ => (base, entry.elements.plain),
        };
        before * entry.arrays + elements
    }

    /// Returns the number of bytes of an array.
    pub(crate) fn array(&self, element: Type, length: u32) -> u64 {
        self.model.array(element, length)
    }
}
