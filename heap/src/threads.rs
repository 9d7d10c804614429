//! Threads with their stacks and what the variables there refer to.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Read};
use std::sync::Arc;

use loadhook_hprof::{
    ClassDump, Error, ErrorKind, Header, LoadClass, Root, RootKind, StackFrame, Type, Visitor,
    number,
};

use crate::class_names::ClassNames;
use crate::contents::{Beginnings, Contents, StringClass, Value};
use crate::edges::fields;
use crate::histogram::{Histogram, of_survey};
use crate::kept::ENTRY;
use crate::passes::pass;
use crate::profiler::Profiler;
use crate::survey::{Sizes, Survey};

/// The threads of a dump.
#[derive(Clone, Debug)]
pub struct Threads {
    /// How many objects each class has.
    pub histogram: Histogram,
    /// By name, then serial number.
    pub threads: Vec<Thread>,
}

/// A thread that was alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Its object; 0 where a dump is cut off before that is named.
    pub id: u64,
    /// The VM's number of it, in this dump only.
    pub serial: u32,
    /// Empty where it has none, as most virtual threads.
    pub name: String,
    /// The object's class, as Java writes it.
    pub class: Arc<str>,
    /// Its stack from the top.
    pub frames: Vec<Frame>,
    /// What native code refers to outside of all frames, each object once.
    pub locals: Vec<Local>,
}

/// A method that a thread was in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The method's class, as Java writes it.
    pub class: Arc<str>,
    /// The method's name.
    pub method: Arc<str>,
    /// The source file, if it is known.
    pub file: Option<Arc<str>>,
    /// In that file, if it is known.
    pub line: Option<u32>,
    /// Whether it has no bytecode.
    pub is_native: bool,
    /// What its variables refer to, each object once, in the order of the dump.
    pub locals: Vec<Local>,
}

/// An object that a variable of a thread refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Local {
    /// The object.
    pub id: u64,
    /// Its class.
    pub class: Arc<str>,
    /// Whether it is that class itself.
    pub is_class: bool,
    /// In memory.
    pub bytes: u64,
    /// Whether native code refers to it, not a variable.
    pub is_native: bool,
    /// Of strings.
    pub contents: Option<Arc<Contents>>,
}

impl Threads {
    /// Finds the threads of a dump. `open` gives it from its beginning and is
    /// asked four times: for stacks, for objects, for the strings that are names, for
    /// what strings hold. Threads and variables of the profiler's own are left out
    /// as `profiler` says. Of a dump that is cut off comes the part before, with
    /// the error.
    ///
    /// # Errors
    ///
    /// As of [`read`](fn@loadhook_hprof::read), other than that a dump is cut off.
    pub fn read<R: Read>(
        open: impl Fn() -> io::Result<R>,
        profiler: Profiler,
    ) -> Result<(Threads, Option<Error>), Error> {
        let mut stacks = Stacks::new();
        let (dump_bytes, cut_off) = pass(&open, &mut stacks)?;
        if cut_off.is_some() {
            stacks.take_nameless();
        }
        let mut histogram = stacks.leave_out(profiler, &open)?;
        histogram.dump_bytes = dump_bytes;
        let survey = &stacks.survey;
        let strings = StringClass::of(survey);
        let threads = stacks.threads.values().map(|(id, _)| *id);
        let locals = stacks.locals.iter().map(|root| root.id);
        let mut objects = Objects::new(survey, strings.as_ref(), threads.chain(locals));
        pass(&open, &mut objects)?;
        let mut names = Objects::new(survey, strings.as_ref(), objects.names.values().copied());
        pass(&open, &mut names)?;
        let name_of = |thread| names.values.get(objects.names.get(thread)?);
        // As often as each is shown: that takes memory, too.
        let shown = stacks.threads.values().filter_map(|(id, _)| name_of(id));
        let values = objects.values.values().chain(shown);
        let mut beginnings = Beginnings::new(survey, values.map(|value| value.array));
        pass(&open, &mut beginnings)?;

        let mut class_names = ClassNames::of(survey);
        let mut texts: HashMap<u64, Arc<Contents>> = HashMap::new();
        let mut local = |root: &Root| {
            let found = objects.of(root.id);
            let text = |value| Arc::new(beginnings.string(value));
            let text_of = |value| texts.entry(root.id).or_insert_with(|| text(value)).clone();
            Local {
                id: root.id,
                class: found.map_or("?".into(), |found| class_names.name(found.class)),
                is_class: found.is_some_and(|found| found.is_class),
                bytes: found.map_or(0, |found| found.bytes),
                is_native: root.kind != RootKind::JavaFrame,
                contents: objects.values.get(&root.id).map(text_of),
            }
        };
        let (mut of_frames, mut of_threads) = (HashMap::new(), HashMap::new());
        let mut seen = HashSet::new();
        for root in &stacks.locals {
            let is_there = stacks.has_frame(root.thread, root.frame);
            let frame = is_there.then_some(root.frame);
            // A variable and the operands of an instruction may have the same.
            if seen.insert((root.thread, frame, root.id)) {
                let locals: &mut Vec<Local> = match frame {
                    Some(frame) => of_frames.entry((root.thread, frame)).or_default(),
                    None => of_threads.entry(root.thread).or_default(),
                };
                locals.push(local(root));
            }
        }
        let mut frames = FrameNames::of(&stacks);
        let mut threads = Vec::new();
        for (serial, (id, _)) in &stacks.threads {
            let frame = |(at, frame): (u32, &u64)| {
                let locals = of_frames.remove(&(*serial, at));
                frames.frame(*frame, locals.unwrap_or_default())
            };
            threads.push(Thread {
                id: *id,
                serial: *serial,
                name: name_of(id).map_or_else(String::new, |name| beginnings.string(name).text),
                class: objects
                    .of(*id)
                    .map_or("?".into(), |found| class_names.name(found.class)),
                frames: (0..).zip(stacks.frames_of(*serial)).map(frame).collect(),
                locals: of_threads.remove(serial).unwrap_or_default(),
            });
        }
        if !matches!(profiler, Profiler::Shown) {
            threads.retain(|thread| !is_agents(thread));
        }
        threads.sort_by(|a, b| (&a.name, a.serial).cmp(&(&b.name, b.serial)));
        Ok((Threads { histogram, threads }, cut_off))
    }
}

/// Returns whether the agent made a thread: it runs no object, only native code, and its
/// name is all that tells.
fn is_agents(thread: &Thread) -> bool {
    thread.class.as_ref() == "java.lang.Thread"
        && matches!(thread.name.as_str(), "loadhook snapshot" | "loadhook end")
}

/// What frames are called, each name kept once.
struct FrameNames<'s> {
    stacks: &'s Stacks,
    classes: ClassNames<'s>,
    texts: HashMap<u64, Arc<str>>,
}

impl<'s> FrameNames<'s> {
    fn of(stacks: &'s Stacks) -> FrameNames<'s> {
        FrameNames {
            stacks,
            classes: ClassNames::of(&stacks.survey),
            texts: HashMap::new(),
        }
    }

    fn text(&mut self, id: u64) -> Arc<str> {
        let survey = &self.stacks.survey;
        let text = self.texts.entry(id);
        text.or_insert_with(|| survey.text_of(id).into()).clone()
    }

    fn frame(&mut self, id: u64, locals: Vec<Local>) -> Frame {
        let dump = self.stacks.frames.get(&id).copied().unwrap_or_default();
        let class = self.stacks.classes.get(&dump.class_serial);
        let file = self.text(dump.source_file);
        Frame {
            class: class
                .and_then(|class| self.classes.of_id(*class))
                .unwrap_or_else(|| "?".into()),
            method: self.text(dump.method_name),
            file: (!file.is_empty()).then_some(file),
            line: u32::try_from(dump.line).ok().filter(|line| *line > 0),
            is_native: dump.line == StackFrame::NATIVE_METHOD,
            locals,
        }
    }
}

/// Takes what there is about stacks, and classes.
struct Stacks {
    survey: Survey,
    /// Serial number of a class to it.
    classes: HashMap<u32, u64>,
    frames: HashMap<u64, StackFrame>,
    /// Serial number of a stack to that of its thread, and its frames.
    stacks: BTreeMap<u32, (u32, Vec<u64>)>,
    /// The stack whose frames come.
    open: u32,
    /// Serial number of a thread to its object and, where no other has it, its stack.
    threads: BTreeMap<u32, (u64, Option<u32>)>,
    /// The stacks that threads have, each one's only.
    taken: HashSet<u32>,
    locals: Vec<Root>,
}

impl Stacks {
    fn new() -> Stacks {
        Stacks {
            survey: Survey::new(false),
            classes: HashMap::new(),
            frames: HashMap::new(),
            stacks: BTreeMap::new(),
            open: 0,
            threads: BTreeMap::new(),
            taken: HashSet::new(),
            locals: Vec::new(),
        }
    }

    /// Leaves threads and variables of the profiler's own out, and gives the histogram
    /// without its objects.
    fn leave_out<R: Read>(
        &mut self,
        profiler: Profiler,
        open: impl Fn() -> io::Result<R>,
    ) -> Result<Histogram, Error> {
        let (left_out, histogram) = profiler.find(&self.survey, open)?;
        let is_shown = |id: &u64| left_out.binary_search(id).is_err();
        self.threads.retain(|_, (id, _)| is_shown(id));
        self.locals.retain(|root| is_shown(&root.id));
        Ok(histogram.unwrap_or_else(|| of_survey(&self.survey)))
    }

    /// The frames of a thread.
    fn frames_of(&self, thread: u32) -> &[u64] {
        let stack = self.threads.get(&thread).and_then(|thread| thread.1);
        let stack = stack.and_then(|stack| self.stacks.get(&stack));
        stack.map_or(&[], |(_, frames)| frames)
    }

    /// Takes threads of which there is a stack only: JDK 17 and before name their
    /// objects behind all others.
    fn take_nameless(&mut self) {
        for (stack, (thread, frames)) in &self.stacks {
            if *thread != 0 && !frames.is_empty() && !self.taken.contains(stack) {
                self.threads.entry(*thread).or_insert((0, Some(*stack)));
            }
        }
    }

    fn has_frame(&self, thread: u32, frame: u32) -> bool {
        self.frames_of(thread).len() > frame as usize
    }
}

impl Visitor for Stacks {
    fn header(&mut self, header: Header) {
        self.survey.header(header);
    }

    fn trailing_bytes(&mut self) {
        self.survey.trailing_bytes();
    }

    fn text(&mut self, id: u64, text: &[u8]) -> Result<(), ErrorKind> {
        self.survey.text(id, text)
    }

    fn load_class(&mut self, class: LoadClass) -> Result<(), ErrorKind> {
        self.survey.kept.keep(ENTRY)?;
        self.classes.insert(class.serial, class.class);
        self.survey.load_class(class)
    }

    fn stack_frame(&mut self, frame: StackFrame) -> Result<(), ErrorKind> {
        self.survey.kept.keep(2 * ENTRY)?;
        self.frames.insert(frame.id, frame);
        Ok(())
    }

    fn stack_trace(&mut self, serial: u32, thread: u32) -> Result<(), ErrorKind> {
        self.survey.kept.keep(ENTRY)?;
        self.stacks.insert(serial, (thread, Vec::new()));
        self.open = serial;
        Ok(())
    }

    fn trace_frames(&mut self, ids: &[u8]) -> Result<(), ErrorKind> {
        self.survey.kept.keep(16 * ids.len() as u64)?;
        let id_size = self.survey.header.id_size as usize;
        let (_, frames) = self.stacks.entry(self.open).or_default();
        frames.extend(ids.chunks_exact(id_size).map(number));
        Ok(())
    }

    fn root(&mut self, root: Root) -> Result<(), ErrorKind> {
        use RootKind::{JavaFrame, JniLocal, NativeStack, ThreadBlock, ThreadObject};
        match root.kind {
            ThreadObject => {
                self.survey.kept.keep(2 * ENTRY)?;
                // Threads that shared one long stack would have as many frames together
                // as there is no memory for.
                let stack = self.taken.insert(root.frame).then_some(root.frame);
                self.threads.entry(root.thread).or_insert((root.id, stack));
            }
            JavaFrame | JniLocal | NativeStack | ThreadBlock
                if self.locals.last() != Some(&root) =>
            {
                self.survey.kept.keep(4 * ENTRY)?;
                self.locals.push(root);
            }
            _ => {}
        }
        Ok(())
    }

    fn class(&mut self, class: &ClassDump) -> Result<(), ErrorKind> {
        self.survey.class(class)
    }

    fn instance(&mut self, id: u64, class: u64, fields: &[u8]) -> Result<(), ErrorKind> {
        self.survey.instance(id, class, fields)
    }

    fn object_array(&mut self, id: u64, class: u64, length: u32) -> Result<(), ErrorKind> {
        self.survey.object_array(id, class, length)
    }

    fn primitive_array(&mut self, id: u64, of: Type, length: u32) -> Result<(), ErrorKind> {
        self.survey.primitive_array(id, of, length)
    }
}

/// An object, its entry and bytes.
#[derive(Clone, Copy)]
struct Found {
    class: u32,
    is_class: bool,
    bytes: u64,
}

/// Takes what some objects are, what strings among them have, and the names of threads.
struct Objects<'s> {
    survey: &'s Survey,
    sizes: Sizes,
    /// The class of classes.
    of_class: Option<u32>,
    supers: Vec<Option<u32>>,
    strings: Option<&'s StringClass>,
    /// Those that are looked for, till they are found nothing.
    objects: HashMap<u64, Option<Found>>,
    values: HashMap<u64, Value>,
    /// Thread to the string that is its name.
    names: HashMap<u64, u64>,
}

impl<'s> Objects<'s> {
    fn new(
        survey: &'s Survey,
        strings: Option<&'s StringClass>,
        ids: impl Iterator<Item = u64>,
    ) -> Objects<'s> {
        Objects {
            survey,
            sizes: survey.sizes(),
            of_class: survey.of_class(),
            supers: survey.supers(),
            strings,
            objects: ids.map(|id| (id, None)).collect(),
            values: HashMap::new(),
            names: HashMap::new(),
        }
    }

    /// Whether an object is one of those, and was not found.
    fn is_wanted(&self, id: u64) -> bool {
        matches!(self.objects.get(&id), Some(None))
    }

    fn found(&mut self, id: u64, class: u32, bytes: u64) {
        let is_class = false;
        let found = Found {
            class,
            is_class,
            bytes,
        };
        self.objects.insert(id, Some(found));
    }

    fn of(&self, id: u64) -> Option<Found> {
        if let Some(found) = self.objects.get(&id).copied().flatten() {
            return Some(found);
        }
        let class = self.survey.class_of(id)?;
        self.survey.entries[class as usize].dump.as_ref()?;
        let of_class = self.of_class;
        let bytes = self.survey.class_size(class, of_class, &self.sizes);
        let is_class = true;
        Some(Found {
            class,
            is_class,
            bytes,
        })
    }

    /// Of a thread the string that is its name.
    fn name(&self, class: u32, bytes: &[u8]) -> Option<u64> {
        let id_size = self.survey.header.id_size as usize;
        let mut fields = fields(self.survey, &self.supers, class, bytes.len());
        let (at, ..) = fields.find(|(_, name, of, class)| {
            *of == Type::Object
                && self.survey.text_of(*name) == "name"
                && self.survey.internal_name(*class) == b"java/lang/Thread"
        })?;
        bytes.get(at..at + id_size).map(number)
    }
}

impl Visitor for Objects<'_> {
    fn wants_contents(&self) -> bool {
        true
    }

    fn instance(&mut self, id: u64, class: u64, bytes: &[u8]) -> Result<(), ErrorKind> {
        if !self.is_wanted(id) {
            return Ok(());
        }
        let Some(class) = self.survey.class_of(class) else {
            return Ok(());
        };
        let stack = self.survey.stack_size(class, bytes, &self.sizes);
        let size = self.survey.instance_size(class, &self.sizes) + stack;
        self.found(id, class, size);
        let strings = self.strings.filter(|strings| strings.class == class);
        match strings {
            Some(strings) => self
                .values
                .extend(strings.value(bytes).map(|value| (id, value))),
            None => self
                .names
                .extend(self.name(class, bytes).map(|name| (id, name))),
        }
        Ok(())
    }

    fn object_array(&mut self, id: u64, class: u64, length: u32) -> Result<(), ErrorKind> {
        if let Some(class) = self.survey.class_of(class).filter(|_| self.is_wanted(id)) {
            let bytes = self.sizes.model.array(Type::Object, length);
            self.found(id, class, bytes);
        }
        Ok(())
    }

    fn primitive_array(&mut self, id: u64, of: Type, length: u32) -> Result<(), ErrorKind> {
        if self.is_wanted(id) {
            self.found(id, of as u32, self.sizes.model.array(of, length));
        }
        Ok(())
    }
}
