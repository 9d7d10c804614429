//! How many objects each class has, and what they take.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::io::Read;
use std::sync::Arc;

use loadhook_hprof::{Error, Header, read};

use crate::class_names::ClassNames;
use crate::layout::Model;
use crate::profiler::LeftOut;
use crate::survey::Survey;

/// Objects of a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Count {
    /// The class as Java writes it: `java.lang.String`, `int[]`.
    pub name: Arc<str>,
    /// The class's object; of arrays of primitive types a number below 9.
    pub class_id: u64,
    /// How many objects.
    pub instances: u64,
    /// What they take in memory, headers and alignment included.
    pub bytes: u64,
}

/// The classes of a dump.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    /// The file's.
    pub header: Header,
    /// How sizes were computed.
    pub model: Model,
    /// Bytes of the dump that were read, unpacked.
    pub dump_bytes: u64,
    /// Whether the file goes on behind what gzip packed; that is not read.
    pub is_followed: bool,
    /// The profiler's own objects that are not counted in `classes`.
    pub left_out: LeftOut,
    /// Those that have objects, by bytes, then instances, then name. A name
    /// comes again for each loader that has a class of that name.
    pub classes: Vec<Count>,
}

impl Histogram {
    /// All objects.
    #[must_use]
    pub fn instances(&self) -> u64 {
        self.classes.iter().map(|class| class.instances).sum()
    }

    /// All bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let bytes = self.classes.iter().map(|class| class.bytes);
        bytes.fold(0, u64::saturating_add)
    }

    /// Takes objects out of classes; `counts` has each class by its number.
    pub(crate) fn leave_out(&mut self, counts: &[(u64, LeftOut)]) {
        let counts: HashMap<u64, LeftOut> = counts.iter().copied().collect();
        for class in &mut self.classes {
            let Some(count) = counts.get(&class.class_id) else {
                continue;
            };
            // No more than there are, in a dump whose classes have the numbers of others.
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

fn larger_first(a: &Count, b: &Count) -> Ordering {
    (b.bytes, b.instances, &a.name).cmp(&(a.bytes, a.instances, &b.name))
}

/// Counts the objects of a dump. What was read before a fault comes with it.
pub fn histogram(source: impl Read) -> (Histogram, Result<(), Error>) {
    count(source, false)
}

/// The same without the classes of Loadhook's tracker and their objects.
/// `left_out` tells whether there are any; what only they keep takes a graph to
/// find, see [`Graph::leave_out_profiler`](crate::Graph::leave_out_profiler).
pub fn histogram_without_tracker(source: impl Read) -> (Histogram, Result<(), Error>) {
    count(source, true)
}

fn count(source: impl Read, without_tracker: bool) -> (Histogram, Result<(), Error>) {
    let mut survey = Survey::new(false);
    let outcome = read(source, &mut survey);
    let mut histogram = of_survey(&survey);
    if without_tracker && let Some(is_tracker) = survey.tracker_classes() {
        histogram.leave_out(&tracker_counts(&survey, &is_tracker));
    }
    histogram.dump_bytes = match &outcome {
        Ok(bytes) => *bytes,
        Err(error) => error.at,
    };
    (histogram, outcome.map(|_| ()))
}

/// What the tracker's classes and their objects take in each class.
fn tracker_counts(survey: &Survey, is_tracker: &[bool]) -> Vec<(u64, LeftOut)> {
    let sizes = survey.sizes();
    let of_class = survey.of_class();
    let mut classes = LeftOut::default();
    let mut counts = Vec::new();
    for (class, entry) in (0..).zip(&survey.entries) {
        if !is_tracker[class as usize] {
            continue;
        }
        if entry.dump.is_some() {
            classes.instances += 1;
            classes.bytes += survey.class_size(class, of_class, &sizes);
        }
        let instances = survey.instances_size(class, &sizes);
        let count = LeftOut {
            instances: entry.instances + entry.arrays,
            bytes: instances.saturating_add(survey.arrays_size(class, &sizes.model)),
        };
        counts.push((entry.id, count));
    }
    let of_class = of_class.map(|of_class| survey.entries[of_class as usize].id);
    counts.extend(of_class.map(|of_class| (of_class, classes)));
    counts
}

pub(crate) fn of_survey(survey: &Survey) -> Histogram {
    let sizes = survey.sizes();
    let of_class = survey.of_class();
    let mut classes = Vec::new();
    let mut all_classes = (0, 0);
    for (index, entry) in survey.entries.iter().enumerate() {
        let class = index as u32;
        if entry.dump.is_some() {
            all_classes.0 += 1;
            all_classes.1 += survey.class_size(class, of_class, &sizes);
        }
        let instances = survey.instances_size(class, &sizes);
        let arrays = survey.arrays_size(class, &sizes.model);
        classes.push(Count {
            name: "".into(),
            class_id: match entry.id {
                0 => index as u64,
                id => id,
            },
            instances: entry.instances + entry.arrays,
            bytes: instances.saturating_add(arrays),
        });
    }
    if let Some(of_class) = of_class {
        let count = &mut classes[of_class as usize];
        count.instances += all_classes.0;
        count.bytes += all_classes.1;
    }
    let mut names = ClassNames::of(survey);
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
        is_followed: survey.is_followed,
        left_out: LeftOut::default(),
        classes,
    }
}
