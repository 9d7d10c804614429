//! Samples as a profile tells them.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use loadhook_profile::{
    Allocations, Frame, Method, Profile, Seen, Site as ProfileSite, ThreadKind, ThreadTree,
};
use loadhook_text::count;

use super::estimate::Estimate;
use super::live_objects::Record;
use super::stacks::{Copies, Node, Place, Symbol};
use super::threads::{Owner, Owners, Site};
use super::{DEPTH, Samples, Source, State};
use crate::agent::Agent;
use crate::instrument::loaders::Loader;
use crate::jvm::jni::Jni;

/// Sites that are named as growing.
const MOST_GROWING: usize = 10;

/// The least growth that is named, in bytes.
const LEAST_GROWTH: f64 = 5e4;

/// What this version lacks: with an object that does not fit into a thread's
/// buffer it forgets that the buffer was to end at the next one.
const BEHIND_LARGE: &str = "JDK 11 does not report what a thread allocates after an object too \
    large for its allocation buffer (TLAB), until the next buffer; run with -XX:-UseTLAB and G1 or ZGC \
    to count all";

/// The VM has nothing to show of them.
const NOT_ALLOCATED: &str = "objects that the JIT compiler removes (scalar replacement) are not seen: \
    they are never allocated";

/// From so many bytes on, an object may be too large for a thread's buffer.
const LARGE: f64 = 32_768.0;

/// The share of the bytes from which on large objects are told of.
const MANY_LARGE: f64 = 0.05;

/// Measured with 400 KB and 24 KB of small objects in turn: of these 2.6 times
/// as many are estimated as there are on JDK 17 and 21, two thirds on JDK 11.
const AROUND_LARGE: &str = "estimates may be wrong by more than their errors: the program makes many objects too large for \
    a thread's allocation buffer (TLAB), and JVMs before JDK 25 then lose count of the thread's bytes; \
    run with -XX:-UseTLAB and G1 or ZGC for right estimates (on JDK 11, up to an eighth too low)";

/// Where in the code, without its callers, and which type.
type Leaf = (Option<Place>, u32);

const AT_LAST_COLLECTION: &str = "objects shown as alive were so at the last collection of the whole \
    heap; newer ones are missing, since this garbage collector cannot run while the JVM ends";

const NOT_LOOKED: &str =
    "objects shown as alive may be gone, since a suspended thread prevented a check";

/// What was alive at the first snapshot, to be compared with what is later.
#[derive(Debug)]
pub(super) struct Growth {
    alive: HashMap<Leaf, Estimate>,
    /// The collections that had ended: it has what was born before.
    at: u32,
}

/// What a profile tells, copied at one moment: who allocates does not wait
/// while it is built.
pub(crate) struct Picture {
    /// The collections that have ended.
    now: u32,
    /// What was made before this collection, and is there, is alive.
    judged: u32,
    /// Whether it was looked what is alive.
    is_known: bool,
    /// Whether no collection could be asked for.
    is_late: bool,
    symbols: Vec<Symbol>,
    copies: Vec<Copies>,
    nodes: Vec<Node>,
    types: Vec<Arc<str>>,
    owners: Owners,
    /// What was alive at the last collection, under who owns it now. Of what
    /// was made since nobody knows.
    survivors: Vec<Record>,
    /// What is not told, a sentence each.
    lacks: Vec<String>,
}

/// What of a site is alive.
#[derive(Clone, Copy, Debug, Default)]
struct Alive {
    estimate: Estimate,
    /// Collections survived, summed over the objects.
    ages: f64,
}

impl Samples {
    /// What was seen; nothing where it does not go on. Where it is followed what
    /// is alive, the heap is collected first, if the VM does so in one stop; else
    /// it is what was alive at the last collection. `can_ask` is whether other
    /// VMs can be asked for one.
    pub(crate) fn look_and_picture(
        &self,
        agent: &Agent,
        jni: Jni<'_>,
        can_ask: bool,
        goes_on: impl Fn() -> bool,
    ) -> Option<Picture> {
        let jvmti = agent.jvmti;
        let at_once = self.collects_at_once();
        if self.follows && goes_on() {
            // Who has asked such a collector just before the VM's end waits for
            // ever, but its end does not wait for that.
            agent.turns.outside(|| match at_once {
                true => drop(jvmti.collect_garbage()),
                false if can_ask => self.collect_marked(jvmti, jni),
                false => {}
            });
        }
        // Before it is looked: what a later collection finds was not looked at.
        let now = self.collections.load(Ordering::Relaxed);
        let judged = match at_once {
            true => now,
            false => self.marks.gone(jni),
        };
        let is_known = !self.follows || goes_on() && self.look_in_time(jvmti, &goes_on);
        goes_on().then(|| Picture {
            is_known,
            is_late: self.follows && !at_once && !can_ask,
            ..self.picture(now, judged)
        })
    }

    /// Puts what was seen into a profile, beside what instructions have made.
    /// `loaders` are the names of those of the picture, the same as the
    /// profile has.
    pub(crate) fn add_to(
        &self,
        picture: &Picture,
        loaders: &HashMap<u32, String>,
        profile: &mut Profile,
    ) {
        let alive = picture.alive();
        let mut builder = Builder::new(profile);
        builder.frames(picture, loaders);
        let mut all = Estimate::default();
        let mut large = 0.0;
        for (number, owner) in picture.owners.with_sites() {
            let thread = builder.thread(owner);
            for (site, estimate) in &owner.sites {
                all.add(*estimate);
                if estimate.bytes >= LARGE * estimate.objects {
                    large += estimate.bytes;
                }
                let alive = alive.get(&(number, *site)).copied().unwrap_or_default();
                builder.site(picture, thread, *site, *estimate, alive);
            }
        }
        let Builder { frames, sites, .. } = builder;
        let mut notes = picture.lacks.clone();
        if matches!(self.source, Source::Vm { .. }) && all.objects > 0.0 {
            notes.push(format!(
                "{} of the objects were made by the JVM itself",
                count(all.objects as u64)
            ));
        }
        let is_sampled = matches!(self.source, Source::Sampled(_));
        // With an object too large for a thread's buffer such a VM takes the rest
        // of the buffer for allocated, or on JDK 11 for seen.
        if is_sampled && self.is_before(25) && large > MANY_LARGE * all.bytes {
            notes.push(AROUND_LARGE.to_owned());
        }
        if self.source == Source::All {
            notes.push(NOT_ALLOCATED.to_owned());
        }
        if self.source == Source::All && self.draws_as_11() {
            notes.push(BEHIND_LARGE.to_owned());
        }
        if picture.is_late {
            notes.push(AT_LAST_COLLECTION.to_owned());
        }
        if !picture.is_known {
            notes.push(NOT_LOOKED.to_owned());
        }
        if self.follows {
            notes.extend(self.growth(picture));
        }
        profile.header.notes.extend(notes);
        profile.allocations = Some(Allocations {
            seen: match self.source {
                Source::Sampled(interval) => Seen::Sampled {
                    interval: interval as u64,
                },
                Source::All => Seen::All,
                Source::Vm { .. } => Seen::Exact,
            },
            live: self.follows,
            frames: frames.all,
            sites,
        });
    }

    /// Of what was made before the collection `judged` it was looked what is
    /// alive; `now` many have ended.
    fn picture(&self, now: u32, judged: u32) -> Picture {
        let state = self.lock();
        let records = state.followed.all().into_iter();
        let survivors = records.filter(|record| record.born < judged);
        let owned = survivors.map(|record| Record {
            thread: state.owners.current(record.thread),
            ..record
        });
        Picture {
            now,
            judged,
            is_known: true,
            is_late: false,
            survivors: owned.collect(),
            symbols: state.stacks.symbols().to_vec(),
            copies: state.stacks.copies().to_vec(),
            nodes: state.stacks.nodes().to_vec(),
            types: state.types.all().to_vec(),
            owners: state.owners.clone(),
            lacks: state.lacks(self.source),
        }
    }

    /// The sites of which more is alive than at the first snapshot, by more
    /// than twice the error; this is the first if there was none.
    fn growth(&self, picture: &Picture) -> Vec<String> {
        let growth = self.growth.get();
        let mut now: HashMap<Leaf, [Estimate; 2]> = HashMap::new();
        for record in &picture.survivors {
            let place = record.site.node.and_then(|node| {
                let node = picture.nodes.get(node as usize)?;
                Some(node.place)
            });
            let sums = now.entry((place, record.site.type_number)).or_default();
            // Whether the first snapshot had it.
            let is_early = growth.is_none_or(|growth| record.born < growth.at);
            sums[usize::from(is_early)].add(record.estimate);
        }
        let Some(growth) = growth else {
            let alive = now.into_iter().map(|(leaf, [_, early])| (leaf, early));
            let _ = self.growth.set(Growth {
                alive: alive.collect(),
                at: picture.judged,
            });
            return Vec::new();
        };
        let mut growing: Vec<(f64, f64, Leaf)> = Vec::new();
        for (leaf, [late, early]) in now {
            let before = growth.alive.get(&leaf).copied().unwrap_or_default();
            let bytes = late.bytes + early.bytes - before.bytes;
            // What is alive both times adds nothing to the error.
            let gone = (before.bytes_variance - early.bytes_variance).max(0.0);
            let error = (late.bytes_variance + gone).sqrt();
            if bytes > 2.0 * error && bytes >= LEAST_GROWTH {
                growing.push((bytes, error, leaf));
            }
        }
        growing.sort_by(|a, b| b.0.total_cmp(&a.0));
        growing.truncate(MOST_GROWING);
        let line = |(bytes, error, leaf): (f64, f64, Leaf)| {
            let size = |size: f64| loadhook_text::bytes(size.round() as u64);
            let error = match error > 0.0 {
                true => format!(" (± {})", size(error)),
                false => String::new(),
            };
            format!(
                "growing: {}{error} more alive than at the first snapshot, of {}",
                size(bytes),
                picture.describe(leaf)
            )
        };
        growing.into_iter().map(line).collect()
    }
}

impl State {
    pub(super) fn lacks(&self, source: Source) -> Vec<String> {
        let stacks = &self.stacks;
        let cut = match source {
            Source::Vm { .. } => format!(
                "objects that the JVM made itself have stacks deeper than {DEPTH} frames; outer callers, \
                 and objects without an instrumented class among these frames, are shown as (deeper)"
            ),
            _ => format!(
                "samples have stacks deeper than {DEPTH} frames; their outer callers are shown as (deeper)"
            ),
        };
        let unnamed = match source {
            Source::Vm { .. } => {
                "objects that the JVM made itself have (other methods) in their stacks, since the table \
                 of methods was full"
            }
            _ => {
                "samples have (other methods) in their stacks, since the table of methods was full"
            }
        };
        let lacks = [
            (stacks.cut, cut),
            (stacks.unnamed, unnamed.to_owned()),
            (
                stacks.without_callers,
                "samples have no callers, since the table of stacks was full".to_owned(),
            ),
            (
                self.without_site,
                "samples have neither place nor type, since the table of sites was full".to_owned(),
            ),
            (
                self.without_type,
                "samples are shown as (other types), since the table of types was full".to_owned(),
            ),
            (
                self.missed,
                "objects were not followed, since the table of objects was full".to_owned(),
            ),
        ];
        let told = lacks.into_iter().filter(|(number, _)| *number > 0);
        told.map(|(number, what)| format!("{} {what}", count(number)))
            .collect()
    }
}

impl Picture {
    /// The loaders whose methods it names.
    pub(crate) fn loaders(&self) -> impl Iterator<Item = Loader> {
        let symbols = self.symbols.iter().zip(&self.copies);
        symbols.map(|(symbol, copies)| Loader {
            number: copies.first,
            kind: symbol.kind,
        })
    }

    fn alive(&self) -> HashMap<(u32, Site), Alive> {
        let mut alive: HashMap<(u32, Site), Alive> = HashMap::new();
        for record in &self.survivors {
            let sum = alive.entry((record.thread, record.site)).or_default();
            let age = f64::from(self.now.wrapping_sub(record.born));
            sum.ages += record.estimate.objects * age;
            sum.estimate.add(record.estimate);
        }
        alive
    }

    fn describe(&self, (place, type_number): Leaf) -> String {
        let type_name = self.types.get(type_number as usize);
        let type_name = type_name.map_or("?", |name| name);
        let at = place.and_then(|place| {
            let symbol = self.symbols.get(place.symbol as usize)?;
            let line = place.line.map_or(String::new(), |line| format!(":{line}"));
            Some(format!(" from {}.{}{line}", symbol.class, symbol.name))
        });
        format!("{type_name}{}", at.unwrap_or_default())
    }
}

/// Frames, each once.
struct Frames {
    numbers: HashMap<Frame, u32>,
    all: Vec<Frame>,
}

/// Builds the parts of a profile that allocations need.
struct Builder<'p> {
    profile: &'p mut Profile,
    methods: HashMap<Method, u32>,
    frames: Frames,
    /// The frame of each node.
    of_nodes: Vec<u32>,
    sites: Vec<ProfileSite>,
}

impl<'p> Builder<'p> {
    fn new(profile: &'p mut Profile) -> Self {
        let methods = profile.methods.iter().map(identity).zip(0..).collect();
        // What instructions have made.
        let known = profile.allocations.take().unwrap_or_default();
        Builder {
            profile,
            methods,
            frames: Frames {
                numbers: known.frames.iter().copied().zip(0..).collect(),
                all: known.frames,
            },
            of_nodes: Vec::new(),
            sites: known.sites,
        }
    }

    /// The index of a method, which may be there already.
    fn method(&mut self, symbol: &Symbol, copies: Copies, loaders: &HashMap<u32, String>) -> u32 {
        let loader = loaders.get(&copies.first).map_or("?", |name| name);
        let method = Method {
            loader: loader.into(),
            class: symbol.class.clone(),
            name: symbol.name.clone(),
            descriptor: symbol.descriptor.clone(),
            file: symbol.file.clone(),
            line: symbol.line,
            loaders: copies.loaders.max(1),
        };
        let methods = &mut self.profile.methods;
        *self.methods.entry(identity(&method)).or_insert_with(|| {
            methods.push(method);
            methods.len() as u32 - 1
        })
    }

    fn frames(&mut self, picture: &Picture, loaders: &HashMap<u32, String>) {
        let mut methods: Vec<Option<u32>> = vec![None; picture.symbols.len()];
        for node in &picture.nodes {
            let symbol = node.place.symbol as usize;
            let method = match methods[symbol] {
                Some(method) => method,
                None => self.method(&picture.symbols[symbol], picture.copies[symbol], loaders),
            };
            methods[symbol] = Some(method);
            let frame = Frame {
                parent: node.parent.map(|parent| self.of_nodes[parent as usize]),
                method,
                line: node.place.line,
                // Of code that may have been rewritten.
                bci: None,
            };
            let Frames { numbers, all } = &mut self.frames;
            let number = *numbers.entry(frame).or_insert_with(|| {
                all.push(frame);
                all.len() as u32 - 1
            });
            self.of_nodes.push(number);
        }
    }

    /// The index of a thread or group, which may have a tree of calls.
    fn thread(&mut self, owner: &Owner) -> u32 {
        let threads = &mut self.profile.threads;
        let is_it = |thread: &ThreadTree| {
            thread.kind == owner.kind
                && match owner.kind {
                    ThreadKind::Platform => thread.id.is_some() && thread.id == owner.id,
                    ThreadKind::Virtual => true,
                    ThreadKind::Ended => thread.name == owner.name,
                }
        };
        let at = threads.iter().position(is_it).unwrap_or_else(|| {
            threads.push(ThreadTree {
                name: owner.name.clone(),
                id: owner.id,
                kind: owner.kind,
                cpu_ns: None,
                nodes: Vec::new(),
            });
            threads.len() - 1
        });
        at as u32
    }

    fn site(&mut self, picture: &Picture, thread: u32, site: Site, all: Estimate, alive: Alive) {
        let type_name = picture.types.get(site.type_number as usize);
        let live = alive.estimate;
        self.sites.push(ProfileSite {
            thread,
            frame: site.node.map(|node| self.of_nodes[node as usize]),
            type_name: type_name.cloned().unwrap_or_else(|| Arc::from("?")),
            allocated: all.amount(),
            live: live.amount(),
            live_age: match live.objects > 0.0 {
                true => alive.ages / live.objects,
                false => 0.0,
            },
        });
    }
}

/// What a method is known by.
fn identity(method: &Method) -> Method {
    Method {
        file: None,
        line: None,
        loaders: 1,
        ..method.clone()
    }
}
