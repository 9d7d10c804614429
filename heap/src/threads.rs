//! Threads, their stacks, and the objects to which their variables refer.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read};
use std::sync::Arc;

use loadhook_hprof::{Error, Root, RootKind, StackFrame};

use crate::class_names::ClassNames;
use crate::histogram::{Histogram, histogram_of};
use crate::object_sizes::ObjectSizes;
use crate::passes::pass;
use crate::previews::{ArrayPrefixes, Preview};
use crate::profiler::ProfilerObjects;
use crate::stack_tables::{StackSurvey, StackTables};
use crate::strings::StringClass;
use crate::survey::Survey;
use crate::thread_objects::{FoundObjects, ObjectSearch};

/// The threads of a dump.
#[derive(Clone, Debug)]
pub struct Threads {
    /// The number of objects of each class.
    pub histogram: Histogram,
    /// The threads in the order of their names, then of their serial numbers.
    pub threads: Vec<Thread>,
}

/// A thread that was alive when the dump was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Identifier of the thread object; 0 if the dump is cut off before its root.
    pub id: u64,
    /// Serial number of the thread in this dump.
    pub serial: u32,
    /// Name of the thread; empty if it has none, like most virtual threads.
    pub name: String,
    /// Class of the thread object, by its name in Java.
    pub class: Arc<str>,
    /// The stack from the top.
    pub frames: Vec<Frame>,
    /// Objects to which native code refers outside of all frames, each once.
    pub locals: Vec<Local>,
}

/// A frame of a thread's stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The method's class, by its name in Java.
    pub class: Arc<str>,
    /// The method's name.
    pub method: Arc<str>,
    /// The source file, if it is known.
    pub file: Option<Arc<str>>,
    /// The line in that file, if it is known.
    pub line: Option<u32>,
    /// True for a native method.
    pub is_native: bool,
    /// Objects to which the frame's variables refer, each once, in the order of the dump.
    pub locals: Vec<Local>,
}

/// An object to which a variable of a thread refers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Local {
    /// Identifier of the object.
    pub id: u64,
    /// Class of the object, by its name in Java; for a class object, the class that it represents.
    pub class: Arc<str>,
    /// True for a class object.
    pub is_class: bool,
    /// Bytes of the object in memory.
    pub bytes: u64,
    /// True if native code refers to the object, false if a Java variable does.
    pub is_native: bool,
    /// Beginning of the characters, if the object is a string.
    pub preview: Option<Arc<Preview>>,
}

/// Shown instead of the class of an object that the dump does not have.
const ABSENT: &str = "?";

impl Threads {
    /// Finds the threads of a dump. `open` opens the dump, which is read in four passes: for
    /// stacks, for the objects of threads and variables, for the strings that are names, and for
    /// the characters of strings. `profiler` decides whether threads and variables of the profiler
    /// are left out. If the dump is cut off, the result covers the part before the cut, and the
    /// error is returned with it.
    ///
    /// # Errors
    ///
    /// Fails as [`read`](fn@loadhook_hprof::read) does, but not on a dump that is cut off.
    pub fn read<R: Read>(
        open: impl Fn() -> io::Result<R>,
        profiler: ProfilerObjects,
    ) -> Result<(Threads, Option<Error>), Error> {
        let mut first = StackSurvey::new(Survey::of_classes());
        let (dump_bytes, cut_off) = pass(&open, &mut first)?;
        let StackSurvey { survey, mut stacks } = first;
        if cut_off.is_some() {
            stacks.add_threads_without_object();
        }
        let (left_out, histogram) = profiler.find(&survey, &open)?;
        stacks.leave_out(&left_out);
        let mut histogram = histogram.unwrap_or_else(|| histogram_of(&survey));
        histogram.dump_bytes = dump_bytes;
        let string_class = StringClass::of(&survey);
        let mut search = ObjectSearch::new(&survey, string_class.as_ref(), stacks.objects());
        pass(&open, &mut search)?;
        let objects = search.finish();
        let names = objects.names.values().copied();
        let mut search = ObjectSearch::new(&survey, string_class.as_ref(), names);
        pass(&open, &mut search)?;
        let assembly = ThreadAssembly {
            survey: &survey,
            stacks: &stacks,
            objects: &objects,
            names: &search.finish(),
        };
        let mut prefixes = ArrayPrefixes::new(&survey, assembly.arrays().into_iter());
        pass(&open, &mut prefixes)?;
        let shows_profiler = matches!(profiler, ProfilerObjects::Shown);
        let threads = assembly.threads(&prefixes, shows_profiler);
        Ok((Threads { histogram, threads }, cut_off))
    }
}

/// The data that the passes found, from which threads are put together.
pub(crate) struct ThreadAssembly<'s> {
    pub(crate) survey: &'s Survey,
    pub(crate) stacks: &'s StackTables,
    /// Thread objects, and the objects to which variables refer.
    pub(crate) objects: &'s FoundObjects,
    /// The strings that are names of threads.
    pub(crate) names: &'s FoundObjects,
}

impl ThreadAssembly<'_> {
    /// Returns the arrays of the strings that are shown. An array occurs once for each string
    /// shown.
    fn arrays(&self) -> Vec<u64> {
        let threads = self.stacks.threads.values();
        let names = threads.filter_map(|thread| {
            let name = self.objects.names.get(&thread.object)?;
            self.names.strings.get(name)
        });
        let strings = self.objects.strings.values().chain(names);
        strings.map(|value| value.array).collect()
    }

    /// Returns the threads. Includes the agent's threads if `shows_profiler`.
    pub(crate) fn threads(
        &self,
        prefixes: &ArrayPrefixes<'_>,
        shows_profiler: bool,
    ) -> Vec<Thread> {
        let sizes = ObjectSizes::new(self.survey);
        let mut class_names = ClassNames::new(self.survey);
        let (mut of_frames, mut of_threads) = self.locals(prefixes, &sizes, &mut class_names);
        let mut frame_names = FrameNames::new(self.survey, self.stacks);
        let mut threads = Vec::new();
        for (serial, dumped) in &self.stacks.threads {
            let frame = |(index, frame): (u32, &u64)| {
                let locals = of_frames.remove(&(*serial, index));
                frame_names.frame(*frame, locals.unwrap_or_default())
            };
            let name = self.objects.names.get(&dumped.object);
            let name = name.and_then(|name| self.names.strings.get(name));
            let object = self.objects.get(dumped.object, &sizes, self.survey);
            threads.push(Thread {
                id: dumped.object,
                serial: *serial,
                name: name.map_or_else(String::new, |name| prefixes.string(name).text),
                class: object.map_or(ABSENT.into(), |object| class_names.name(object.class)),
                frames: (0..)
                    .zip(self.stacks.frames_of(*serial))
                    .map(frame)
                    .collect(),
                locals: of_threads.remove(serial).unwrap_or_default(),
            });
        }
        threads.retain(|thread| shows_profiler || !is_agents(thread));
        threads.sort_by(|a, b| (&a.name, a.serial).cmp(&(&b.name, b.serial)));
        threads
    }

    /// Returns the objects to which variables refer: first the objects of frames, by thread and frame, then all
    /// others, by thread.
    #[allow(clippy::type_complexity)]
    fn locals(
        &self,
        prefixes: &ArrayPrefixes<'_>,
        sizes: &ObjectSizes<'_>,
        class_names: &mut ClassNames<'_>,
    ) -> (HashMap<(u32, u32), Vec<Local>>, HashMap<u32, Vec<Local>>) {
        let mut previews: HashMap<u64, Arc<Preview>> = HashMap::new();
        let mut local = |root: &Root| {
            let object = self.objects.get(root.id, sizes, self.survey);
            let preview = self.objects.strings.get(&root.id).map(|value| {
                let preview = previews.entry(root.id);
                preview
                    .or_insert_with(|| Arc::new(prefixes.string(value)))
                    .clone()
            });
            Local {
                id: root.id,
                class: object.map_or(ABSENT.into(), |object| class_names.name(object.class)),
                is_class: object.is_some_and(|object| object.is_class),
                bytes: object.map_or(0, |object| object.bytes),
                is_native: root.kind != RootKind::JavaFrame,
                preview,
            }
        };
        let mut of_frames: HashMap<(u32, u32), Vec<Local>> = HashMap::new();
        let mut of_threads: HashMap<u32, Vec<Local>> = HashMap::new();
        let mut seen = HashSet::new();
        for root in &self.stacks.locals {
            let has_frame = self.stacks.has_frame(root.thread, root.frame);
            let frame = has_frame.then_some(root.frame);
            // A variable and the operand stack may refer to the same object.
            if seen.insert((root.thread, frame, root.id)) {
                let locals = match frame {
                    Some(frame) => of_frames.entry((root.thread, frame)).or_default(),
                    None => of_threads.entry(root.thread).or_default(),
                };
                locals.push(local(root));
            }
        }
        (of_frames, of_threads)
    }
}

/// Returns whether the agent made a thread. The agent's thread runs only native code, so only its
/// name identifies it.
fn is_agents(thread: &Thread) -> bool {
    thread.class.as_ref() == "java.lang.Thread"
        && matches!(thread.name.as_str(), "loadhook snapshot" | "loadhook end")
}

/// Names of frames, each stored once.
struct FrameNames<'s> {
    survey: &'s Survey,
    stacks: &'s StackTables,
    classes: ClassNames<'s>,
    texts: HashMap<u64, Arc<str>>,
}

impl<'s> FrameNames<'s> {
    fn new(survey: &'s Survey, stacks: &'s StackTables) -> FrameNames<'s> {
        FrameNames {
            survey,
            stacks,
            classes: ClassNames::new(survey),
            texts: HashMap::new(),
        }
    }

    fn text(&mut self, id: u64) -> Arc<str> {
        let survey = self.survey;
        let text = self.texts.entry(id);
        text.or_insert_with(|| survey.text(id).into()).clone()
    }

    fn frame(&mut self, id: u64, locals: Vec<Local>) -> Frame {
        let dump = self.stacks.frames.get(&id).copied().unwrap_or_default();
        let class = self.stacks.classes.get(&dump.class_serial);
        let file = self.text(dump.source_file);
        Frame {
            class: class
                .and_then(|class| self.classes.name_of_id(*class))
                .unwrap_or_else(|| "?".into()),
            method: self.text(dump.method_name),
            file: (!file.is_empty()).then_some(file),
            line: u32::try_from(dump.line).ok().filter(|line| *line > 0),
            is_native: dump.line == StackFrame::NATIVE_METHOD,
            locals,
        }
    }
}
