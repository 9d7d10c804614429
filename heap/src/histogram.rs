//! The number of objects of each class, and their bytes.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::io::Read;
use std::sync::Arc;

use loadhook_hprof::{Error, Header, read};

use crate::class_names::ClassNames;
use crate::layout::SizeModel;
use crate::object_sizes::ObjectSizes;
use crate::survey::Survey;
use crate::tracker_classes::LeftOut;

/// The number of objects of a class, and their bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassCount {
    /// Name of the class in Java: `java.lang.String`, `int[]`.
    pub name: Arc<str>,
    /// Identifier of the class object; for an array of a primitive type, a number below 9.
    pub class_id: u64,
    /// Number of objects.
    pub instances: u64,
    /// Bytes of the objects in memory, including headers and alignment.
    pub bytes: u64,
}

/// The classes of a dump.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    /// The header of the dump.
    pub header: Header,
    /// The size model by which bytes were computed.
    pub model: SizeModel,
    /// Number of bytes that were read from the dump, after unpacking.
    pub dump_bytes: u64,
    /// True if bytes that are not compressed follow the compressed dump. These bytes are not read.
    pub has_trailing_bytes: bool,
    /// The profiler's own objects that are not counted in `classes`.
    pub left_out: LeftOut,
    /// Classes that have objects, by bytes, then instances, then name. Classes of equal name in
    /// several class loaders are separate rows.
    pub classes: Vec<ClassCount>,
}

impl Histogram {
    /// Returns the number of all objects.
    #[must_use]
    pub fn instances(&self) -> u64 {
        self.classes.iter().map(|class| class.instances).sum()
    }

    /// Returns the number of bytes of all objects.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let bytes = self.classes.iter().map(|class| class.bytes);
        bytes.fold(0, u64::saturating_add)
    }

    /// Subtracts the objects that are left out. `counts` has the number and the bytes of these
    /// objects for each class, by the identifier of the class.
    pub(crate) fn leave_out(&mut self, counts: &[(u64, LeftOut)]) {
        let counts: HashMap<u64, LeftOut> = counts.iter().copied().collect();
        for class in &mut self.classes {
            let Some(count) = counts.get(&class.class_id) else {
                continue;
            };
            // In a broken dump several classes may have one identifier.
            let instances = count.instances.min(class.instances);
            let bytes = count.bytes.min(class.bytes);
            class.instances -= instances;
            class.bytes -= bytes;
            self.left_out.instances += instances;
            self.left_out.bytes += bytes;
        }
        self.classes.retain(|count| count.instances > 0);
        self.classes.sort_by(larger_first);
    }
}

fn larger_first(a: &ClassCount, b: &ClassCount) -> Ordering {
    (b.bytes, b.instances, &a.name).cmp(&(a.bytes, a.instances, &b.name))
}

/// Counts the objects of a dump. If the dump is faulty, the counts of the part before the fault are
/// returned with the error.
pub fn histogram(source: impl Read) -> (Histogram, Result<(), Error>) {
    count(source, false)
}

/// Counts the objects of a dump without the classes of Loadhook's tracker and their objects.
/// [`Histogram::left_out`] counts the omitted objects. Objects that only the tracker keeps alive
/// are still counted; finding those needs a graph, see
/// [`Graph::leave_out_profiler`](crate::Graph::leave_out_profiler).
pub fn histogram_without_tracker(source: impl Read) -> (Histogram, Result<(), Error>) {
    count(source, true)
}

fn count(source: impl Read, without_tracker: bool) -> (Histogram, Result<(), Error>) {
    let mut survey = Survey::of_classes();
    let outcome = read(source, &mut survey);
    let mut histogram = histogram_of(&survey);
    if without_tracker && let Some(is_tracker) = survey.tracker_classes() {
        histogram.leave_out(&tracker_counts(&survey, &is_tracker));
    }
    histogram.dump_bytes = match &outcome {
        Ok(bytes) => *bytes,
        Err(error) => error.at,
    };
    (histogram, outcome.map(|_| ()))
}

/// Counts the tracker's classes and their objects, by the identifier of the class.
fn tracker_counts(survey: &Survey, is_tracker: &[bool]) -> Vec<(u64, LeftOut)> {
    let sizes = ObjectSizes::new(survey);
    let mut classes = LeftOut::default();
    let mut counts = Vec::new();
    for (class, entry) in (0..).zip(&survey.classes) {
        if !is_tracker[class as usize] {
            continue;
        }
        if entry.dump.is_some() {
            classes.instances += 1;
            classes.bytes += sizes.class_object(class);
        }
        let count = LeftOut {
            instances: entry.instances + entry.arrays,
            bytes: sizes.instances(class).saturating_add(sizes.arrays(class)),
        };
        counts.push((entry.id, count));
    }
    if let Some(java_lang_class) = survey.java_lang_class() {
        let id = survey.classes[java_lang_class as usize].id;
        counts.push((id, classes));
    }
    counts
}

/// Returns the histogram of a survey.
pub(crate) fn histogram_of(survey: &Survey) -> Histogram {
    let sizes = ObjectSizes::new(survey);
    let mut classes = Vec::new();
    let mut class_objects = (0, 0);
    for (index, entry) in survey.classes.iter().enumerate() {
        let class = index as u32;
        if entry.dump.is_some() {
            class_objects.0 += 1;
            class_objects.1 += sizes.class_object(class);
        }
        classes.push(ClassCount {
            name: "".into(),
            class_id: match entry.id {
                0 => index as u64,
                id => id,
            },
            instances: entry.instances + entry.arrays,
            bytes: sizes.instances(class).saturating_add(sizes.arrays(class)),
        });
    }
    if let Some(java_lang_class) = survey.java_lang_class() {
        let count = &mut classes[java_lang_class as usize];
        count.instances += class_objects.0;
        count.bytes += class_objects.1;
    }
    let mut names = ClassNames::new(survey);
    for (class, count) in (0..).zip(&mut classes) {
        if count.instances > 0 {
            count.name = names.name(class);
        }
    }
    classes.retain(|count| count.instances > 0);
    classes.sort_by(larger_first);
    Histogram {
        header: survey.header,
        model: sizes.model,
        dump_bytes: 0,
        has_trailing_bytes: survey.has_trailing_bytes,
        left_out: LeftOut::default(),
        classes,
    }
}
