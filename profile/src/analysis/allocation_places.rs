//! Allocations by place in the code and type.

use std::collections::HashMap;

use super::measure::Measure;
use super::options::Options;
use crate::model::{Allocations, Amount, Method, Profile, Site};
use loadhook_text::printable;

/// One row of the table of places: objects of one type, allocated at one place in the code, in all
/// threads and calling contexts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Place<'p> {
    /// Index into [`Profile::methods`]; `None` if no Java method was running.
    pub(crate) method: Option<u32>,
    pub(crate) line: Option<u32>,
    pub(crate) type_name: &'p str,
    pub(crate) amounts: Amounts,
}

/// The sum of the objects of several sites.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Amounts {
    allocated: Amount,
    live: Amount,
    /// The mean age of the live objects, in garbage collections survived.
    pub(crate) live_age: f64,
    /// The number of objects of unknown size, which `bytes` leaves out: among all allocated objects, and among
    /// the live ones.
    unsized_objects: [f64; 2],
}

/// Returns the sites in the threads and methods that the options choose.
pub(crate) fn chosen_sites<'a>(
    profile: &'a Profile,
    allocations: &'a Allocations,
    options: &Options<'_>,
) -> impl Iterator<Item = &'a Site> {
    allocations.sites.iter().filter(move |site| {
        let thread = &profile.threads[site.thread as usize].name;
        let is_focused = options.focus.is_none_or(|focus| {
            let mut frames = allocations.path(site);
            frames.any(|frame| focus(&profile.methods[frame.method as usize]))
                || focus(&Method::of_type(&site.type_name))
        });
        is_focused && options.thread.is_none_or(|wanted| wanted(thread))
    })
}

/// Returns the places that the options choose, in no particular order.
pub(crate) fn places<'p>(
    profile: &'p Profile,
    allocations: &'p Allocations,
    options: &'p Options<'_>,
) -> Vec<Place<'p>> {
    places_of(allocations, chosen_sites(profile, allocations, options))
}

/// Sums up sites by place and type. The places are in no particular order.
pub(crate) fn places_of<'p>(
    allocations: &'p Allocations,
    sites: impl Iterator<Item = &'p Site>,
) -> Vec<Place<'p>> {
    let mut known: HashMap<(Option<u32>, Option<u32>, &str), usize> = HashMap::new();
    let mut places: Vec<Place<'p>> = Vec::new();
    for site in sites {
        let frame = site.frame.map(|frame| &allocations.frames[frame as usize]);
        let (method, line) = (frame.map(|f| f.method), frame.and_then(|f| f.line));
        let at = *known
            .entry((method, line, &site.type_name))
            .or_insert_with(|| {
                places.push(Place {
                    method,
                    line,
                    type_name: &site.type_name,
                    amounts: Amounts::default(),
                });
                places.len() - 1
            });
        places[at].amounts.add(site);
    }
    places
}

impl Amounts {
    pub(crate) fn add(&mut self, site: &Site) {
        let amounts = [&site.allocated, &site.live];
        for (sum, amount) in self.unsized_objects.iter_mut().zip(amounts) {
            if amount.bytes.is_none() {
                *sum += amount.objects;
            }
        }
        let ages = self.live_age * self.live.objects + site.live_age * site.live.objects;
        self.allocated.add(&site.allocated);
        self.live.add(&site.live);
        if self.live.objects > 0.0 {
            self.live_age = ages / self.live.objects;
        }
    }

    /// Returns the amount for a measure: live objects for [`Measure::Live`], all objects otherwise.
    pub(crate) fn of(&self, measure: Measure) -> Amount {
        match measure {
            Measure::Live => self.live,
            Measure::Time | Measure::Allocated | Measure::Contention => self.allocated,
        }
    }

    /// Returns the number of objects of unknown size.
    pub(crate) fn unsized_objects(&self, measure: Measure) -> f64 {
        let [allocated, live] = self.unsized_objects;
        match measure {
            Measure::Live => live,
            Measure::Time | Measure::Allocated | Measure::Contention => allocated,
        }
    }
}

impl Place<'_> {
    /// Returns the amount for a measure.
    pub(crate) fn amount(&self, measure: Measure) -> Amount {
        self.amounts.of(measure)
    }

    /// Returns the number of objects of unknown size.
    pub(crate) fn unsized_objects(&self, measure: Measure) -> f64 {
        self.amounts.unsized_objects(measure)
    }
}

/// Sums up the places. Returns the sum, and the number of objects of unknown size, whose bytes are
/// not in the sum.
pub(crate) fn total(places: &[Place<'_>], measure: Measure) -> (Amount, f64) {
    let mut sum = Amount::default();
    let amounts = places.iter().map(|place| place.amount(measure));
    amounts.for_each(|amount| sum.add(&amount));
    let unsized_objects = places.iter().map(|place| place.unsized_objects(measure));
    (sum, unsized_objects.sum())
}

/// Returns the name of a place on screen. `method` is the name of the place's method.
pub(crate) fn place_name(method: Option<&str>, line: Option<u32>) -> String {
    let Some(method) = method else {
        return "the virtual machine".to_owned();
    };
    let line = line.map_or(String::new(), |line| format!(":{line}"));
    printable(&format!("{method}{line}")).into_owned()
}
