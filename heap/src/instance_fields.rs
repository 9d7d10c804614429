//! The fields of an instance, including those of its superclasses.

use loadhook_hprof::Type;

use crate::survey::Survey;

/// Maximum number of superclasses with fields. In a broken dump, a class may be its own superclass,
/// so that the search would not end.
const MOST_SUPERCLASSES: usize = 1000;

/// A field of an instance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldPlace {
    /// Offset in the field values of an instance, in bytes.
    pub(crate) offset: usize,
    /// Identifier of the field's name.
    pub(crate) name: u64,
    pub(crate) value_type: Type,
    /// The class that declares the field.
    pub(crate) class: u32,
}

/// Returns the fields of an instance whose values take `bytes`, in the order of the dump: the
/// fields of its class, then of the superclass, and so on. Fields beyond `bytes` are left out.
/// `superclasses` are [`Survey::superclasses_with_fields`].
pub(crate) fn instance_fields(
    survey: &Survey,
    superclasses: &[Option<u32>],
    class: u32,
    bytes: usize,
) -> impl Iterator<Item = FieldPlace> {
    let id_size = survey.header.id_size;
    let above = |class: &u32| superclasses[*class as usize];
    let classes = std::iter::successors(Some(class), above).take(MOST_SUPERCLASSES);
    let mut end = 0;
    classes
        .flat_map(move |class| {
            let dump = survey.classes[class as usize].dump.as_ref();
            let fields = dump.into_iter().flat_map(|dump| &dump.fields);
            fields.map(move |field| (class, field))
        })
        .map(move |(class, field)| {
            let offset = end;
            end += field.value_type.size(id_size) as usize;
            FieldPlace {
                offset,
                name: field.name,
                value_type: field.value_type,
                class,
            }
        })
        .take_while(move |field| field.offset + field.value_type.size(id_size) as usize <= bytes)
}
