//! Heap functions of JVM TI, which show every object and every reference.

use std::cell::Cell;
use std::ffi::{c_int, c_uchar, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{null, null_mut};

use crate::jvmti::{Env, Jvmti, MethodKey, Result, check};
use crate::reference::{Local, Reference};
use crate::sys::{
    FILTER_TAGGED, HeapCallbacks, Int, JvmtiError, Long, Object, ReferenceInfo, StackLocal,
    VISIT_ABORT, VISIT_OBJECTS, Value, jvmti, reference,
};

/// A local variable on the stack of a thread, or a JNI local reference.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// Tag of the thread.
    pub thread_tag: Long,
    /// Depth of the frame; 0 is the innermost.
    pub depth: Int,
    /// Method of the frame.
    pub method: MethodKey,
}

/// The kind of a reference: `jvmtiHeapReferenceKind` with the details that JVM TI gives. A number is the index of the
/// field, element or constant, as in `jvmtiHeapReferenceInfo`.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// The class of an object, or the superclass or an interface of a class.
    Class,
    /// An instance field.
    Field(Int),
    /// An element of an array.
    Element(Int),
    /// The loader of a class.
    ClassLoader,
    /// The signers of a class.
    Signers,
    /// The protection domain of a class.
    ProtectionDomain,
    /// A static field.
    StaticField(Int),
    /// A constant of a class.
    Constant(Int),
    /// A global reference of JNI.
    JniGlobal,
    /// A local reference of JNI.
    JniLocal(Variable),
    /// A class that is never unloaded.
    SystemClass,
    /// A monitor in use.
    Monitor,
    /// A local variable.
    StackLocal(Variable),
    /// A thread.
    Thread,
    /// Another reference, or a root of another kind.
    Other,
}

/// An object that the walk shows. Its tag can be set. If an object refers to itself, both ends of the reference have
/// the same cell.
#[derive(Clone, Copy)]
pub struct Tagged<'a> {
    /// Tag of the object; 0 for none.
    pub tag: &'a Cell<Long>,
    /// Tag of the object's class; 0 for none.
    pub class_tag: Long,
}

/// Receives the objects and references of a heap walk. Implementations must not call the JVM,
/// because the JVM is stopped meanwhile. Each method returns whether the walk continues.
pub trait Visitor {
    /// Returns whether the walk shows values of primitive types, too.
    fn wants_values(&self) -> bool {
        true
    }

    /// Receives a reference to an object of `size` bytes, from another object or, if `from` is `None`, from a root.
    /// `length` is the number of elements if the object is an array.
    fn reference(
        &mut self,
        source: Source,
        from: Option<Tagged<'_>>,
        to: Tagged<'_>,
        size: Long,
        length: Option<u32>,
    ) -> bool;

    /// Receives a field of a primitive type and the bits of its value. `from` is the object that has the field, or the
    /// class of a static field. `of` is the descriptor of the field.
    fn primitive_field(&mut self, of: u8, index: Int, from: Tagged<'_>, bits: u64) -> bool;

    /// Receives an array of a primitive type and its elements in the byte order of the machine.
    /// `of` is the descriptor of the elements.
    fn primitive_array(&mut self, of: u8, from: Tagged<'_>, length: u32, elements: &[u8]) -> bool;
}

/// A running walk: its visitor, and whether the visitor has panicked.
struct Walk<'v, V> {
    visitor: &'v mut V,
    /// The answer of a callback to the JVM if the walk is to continue.
    next: Int,
    panicked: bool,
}

/// The error for a walk whose visitor has panicked. The panic hook has logged the panic.
#[derive(Clone, Copy, Debug)]
pub struct Panicked;

/// Returns the size in bytes that a value takes in a heap dump, by the first byte of the value's descriptor. A
/// reference takes 8 bytes, because the dump identifies objects by their tags.
pub fn size_of(descriptor: u8) -> usize {
    match descriptor {
        b'Z' | b'B' => 1,
        b'C' | b'S' => 2,
        b'I' | b'F' => 4,
        _ => 8,
    }
}

impl Jvmti {
    /// Returns the tag of an object in this environment; 0 if it has none.
    pub fn tag(self, object: Local<'_>) -> Result<Long> {
        type F = unsafe extern "system" fn(Env, Object, *mut Long) -> JvmtiError;
        let mut tag: Long = 0;
        // SAFETY: `tag` is written before success is reported.
        check(unsafe { self.function::<F>(jvmti::GET_TAG)(self.env, object.object(), &mut tag) })?;
        Ok(tag)
    }

    /// Returns the number of objects in the heap.
    pub fn count_objects(self) -> Result<u64> {
        let mut objects: u64 = 0;
        // SAFETY: `count_object` expects a pointer to a `u64`, as `objects` is.
        unsafe { self.iterate(0, count_object, (&raw mut objects).cast()) }?;
        Ok(objects)
    }

    /// Gives a tag, made by `next`, to each object that has none. Returns for each of these objects its new tag, the
    /// tag of its class and its size. `next` must not call the JVM, because the JVM is stopped meanwhile.
    pub fn tag_untagged(self, next: fn() -> Long) -> Result<Vec<NewlyTagged>> {
        let mut tagging = Tagging {
            next,
            tagged: Vec::new(),
        };
        // SAFETY: `tag_object` expects a pointer to a `Tagging`.
        unsafe { self.iterate(FILTER_TAGGED, tag_object, (&raw mut tagging).cast()) }?;
        Ok(tagging.tagged)
    }

    /// Calls `callback` with each object that `filter` does not exclude.
    ///
    /// # Safety
    /// `data` must point to a value of the type that `callback` expects.
    unsafe fn iterate(self, filter: Int, callback: OnObject, data: *mut c_void) -> Result<()> {
        type F = unsafe extern "system" fn(
            Env,
            Int,
            Object,
            *const HeapCallbacks,
            *const c_void,
        ) -> JvmtiError;
        let callbacks = HeapCallbacks {
            heap_iteration: callback as *const c_void,
            heap_reference: null(),
            primitive_field: null(),
            array_primitive_value: null(),
            others: [null(); 12],
        };
        // SAFETY: a null class means all; `data` outlives the call, whose callbacks
        // come one after the other.
        check(unsafe {
            self.function::<F>(jvmti::ITERATE_THROUGH_HEAP)(
                self.env,
                filter,
                null_mut(),
                &callbacks,
                data,
            )
        })
    }

    /// Shows a visitor all references and values that are reachable from the roots. The JVM is stopped meanwhile.
    pub fn follow_references<V: Visitor>(
        self,
        visitor: &mut V,
    ) -> Result<std::result::Result<(), Panicked>> {
        self.follow(Local::NULL, VISIT_OBJECTS, visitor)
    }

    /// Shows a visitor the references and values of one object.
    pub fn show_object<V: Visitor>(
        self,
        object: Local<'_>,
        visitor: &mut V,
    ) -> Result<std::result::Result<(), Panicked>> {
        self.follow(object, VISIT_NO_OBJECTS, visitor)
    }

    /// Shows a visitor the references of an object, or those of the roots if the object is null. `next` is the answer
    /// of the callbacks: with [`VISIT_OBJECTS`], the walk goes on from each object that it reaches, with
    /// [`VISIT_NO_OBJECTS`] it does not.
    fn follow<V: Visitor>(
        self,
        object: Local<'_>,
        next: Int,
        visitor: &mut V,
    ) -> Result<std::result::Result<(), Panicked>> {
        type F = unsafe extern "system" fn(
            Env,
            Int,
            Object,
            Object,
            *const HeapCallbacks,
            *const c_void,
        ) -> JvmtiError;
        let mut callbacks = HeapCallbacks {
            heap_iteration: null(),
            heap_reference: heap_reference::<V> as *const c_void,
            primitive_field: null(),
            array_primitive_value: null(),
            others: [null(); 12],
        };
        if visitor.wants_values() {
            callbacks.primitive_field = primitive_field::<V> as *const c_void;
            callbacks.array_primitive_value = array_primitive_value::<V> as *const c_void;
        }
        let mut walk = Walk {
            visitor,
            next,
            panicked: false,
        };
        // SAFETY: no filter and no class; the object is null or a valid reference; the walk
        // outlives the call, whose callbacks come one after the other.
        check(unsafe {
            self.function::<F>(jvmti::FOLLOW_REFERENCES)(
                self.env,
                0,
                null_mut(),
                object.object(),
                &callbacks,
                (&raw mut walk).cast(),
            )
        })?;
        Ok(if walk.panicked { Err(Panicked) } else { Ok(()) })
    }

    /// Disposes the environment and all its tags. No copy of this `Jvmti` may be used later.
    pub fn dispose(self) {
        type F = unsafe extern "system" fn(Env) -> JvmtiError;
        // SAFETY: the caller does not use its copies of the environment again.
        unsafe { self.function::<F>(jvmti::DISPOSE_ENVIRONMENT)(self.env) };
    }
}

/// The callback's answer with which a walk continues, but does not follow the references of the object that it has
/// reached.
const VISIT_NO_OBJECTS: Int = 0;

/// `jvmtiHeapIterationCallback`: tag of the class, size, tag, length, and the data that the caller passed.
type OnObject = unsafe extern "system" fn(Long, Long, *mut Long, Int, *mut c_void) -> Int;

/// An object that [`Jvmti::tag_untagged`] has tagged.
#[derive(Clone, Copy, Debug)]
pub struct NewlyTagged {
    /// The new tag.
    pub tag: Long,
    /// Tag of the object's class; 0 if the class has none.
    pub class_tag: Long,
    /// Size of the object in bytes.
    pub size: Long,
}

struct Tagging {
    next: fn() -> Long,
    tagged: Vec<NewlyTagged>,
}

unsafe extern "system" fn tag_object(
    class_tag: Long,
    size: Long,
    tag: *mut Long,
    _length: Int,
    tagging: *mut c_void,
) -> Int {
    // SAFETY: `tagging` points to the `Tagging` of [`Jvmti::tag_untagged`], and `tag` is the JVM's cell for the tag.
    unsafe {
        let tagging = &mut *tagging.cast::<Tagging>();
        let new = (tagging.next)();
        *tag = new;
        tagging.tagged.push(NewlyTagged {
            tag: new,
            class_tag,
            size,
        });
    }
    VISIT_OBJECTS
}

unsafe extern "system" fn count_object(
    _class_tag: Long,
    _size: Long,
    _tag: *mut Long,
    _length: Int,
    count: *mut c_void,
) -> Int {
    // SAFETY: `count` points to the number of [`Jvmti::count_objects`].
    unsafe { *count.cast::<u64>() += 1 };
    VISIT_OBJECTS
}

/// Runs `body` with the visitor and keeps a panic from the JVM.
///
/// # Safety
/// `walk` must be the pointer that `follow_references::<V>` passed.
unsafe fn on_visit<V: Visitor>(walk: *mut c_void, body: impl FnOnce(&mut V) -> bool) -> Int {
    // SAFETY: the caller's promise; callbacks come one after the other.
    let walk = unsafe { &mut *walk.cast::<Walk<'_, V>>() };
    let goes_on = catch_unwind(AssertUnwindSafe(|| body(walk.visitor)));
    walk.panicked |= goes_on.is_err();
    match goes_on {
        Ok(true) => walk.next,
        Ok(false) | Err(_) => VISIT_ABORT,
    }
}

/// Returns the cell of a tag to which the JVM passes a pointer; `None` for a null pointer.
///
/// # Safety
/// `tag` must be null or the pointer that the JVM passed to the callback under way.
unsafe fn cell<'a>(tag: *mut Long) -> Option<&'a Cell<Long>> {
    // SAFETY: the caller's promise. Two references may lead to the cell of one
    // object; `Cell` allows that.
    unsafe { tag.cast::<Cell<Long>>().as_ref() }
}

#[allow(clippy::too_many_arguments)]
unsafe extern "system" fn heap_reference<V: Visitor>(
    kind: c_int,
    info: *const ReferenceInfo,
    class_tag: Long,
    referrer_class_tag: Long,
    size: Long,
    tag: *mut Long,
    referrer_tag: *mut Long,
    length: Int,
    walk: *mut c_void,
) -> Int {
    // SAFETY: the JVM passes the info of these kinds of references, each with its own fields.
    let index = || unsafe { (*info).index };
    let variable = || {
        // SAFETY: as above. The information about a JNI local begins like that
        // about a stack local.
        let local: StackLocal = unsafe { (*info).local };
        Variable {
            thread_tag: local.thread_tag,
            depth: local.depth,
            method: MethodKey(local.method),
        }
    };
    let source = match kind {
        reference::CLASS | reference::INTERFACE | reference::SUPERCLASS => Source::Class,
        reference::FIELD => Source::Field(index()),
        reference::ARRAY_ELEMENT => Source::Element(index()),
        reference::CLASS_LOADER => Source::ClassLoader,
        reference::SIGNERS => Source::Signers,
        reference::PROTECTION_DOMAIN => Source::ProtectionDomain,
        reference::STATIC_FIELD => Source::StaticField(index()),
        reference::CONSTANT_POOL => Source::Constant(index()),
        reference::JNI_GLOBAL => Source::JniGlobal,
        reference::SYSTEM_CLASS => Source::SystemClass,
        reference::MONITOR => Source::Monitor,
        reference::STACK_LOCAL => Source::StackLocal(variable()),
        reference::JNI_LOCAL => Source::JniLocal(variable()),
        reference::THREAD => Source::Thread,
        _ => Source::Other,
    };
    // SAFETY: tags are the JVM's; the referrer's is null for roots.
    let (to, from) = unsafe { (cell(tag), cell(referrer_tag)) };
    let Some(to) = to else {
        return VISIT_OBJECTS;
    };
    let from = from.map(|tag| Tagged {
        tag,
        class_tag: referrer_class_tag,
    });
    let to = Tagged { tag: to, class_tag };
    let length = u32::try_from(length).ok();
    // SAFETY: `follow_references` passed this pointer.
    unsafe {
        on_visit::<V>(walk, |visitor| {
            visitor.reference(source, from, to, size, length)
        })
    }
}

unsafe extern "system" fn primitive_field<V: Visitor>(
    _kind: c_int,
    info: *const ReferenceInfo,
    class_tag: Long,
    tag: *mut Long,
    value: Value,
    of: c_int,
    walk: *mut c_void,
) -> Int {
    // SAFETY: the JVM passes the info of a field, and the tag of the object or class that has it. A value takes 8
    // bytes; its type says how many of them are used.
    let (index, tag, bits) = unsafe { ((*info).index, cell(tag), value.j.cast_unsigned()) };
    let Some(tag) = tag else {
        return VISIT_OBJECTS;
    };
    let from = Tagged { tag, class_tag };
    // SAFETY: `follow_references` passed this pointer.
    unsafe {
        on_visit::<V>(walk, |visitor| {
            visitor.primitive_field(of as u8, index, from, bits)
        })
    }
}

unsafe extern "system" fn array_primitive_value<V: Visitor>(
    class_tag: Long,
    _size: Long,
    tag: *mut Long,
    count: Int,
    of: c_int,
    elements: *const c_void,
    walk: *mut c_void,
) -> Int {
    // SAFETY: the JVM passes the array's tag.
    let Some(tag) = (unsafe { cell(tag) }) else {
        return VISIT_OBJECTS;
    };
    let length = count.max(0).cast_unsigned();
    let bytes = if elements.is_null() {
        &[][..]
    } else {
        let size = size_of(of as u8) * length as usize;
        // SAFETY: the JVM passes this number of elements, and no thread changes them while it is
        // stopped.
        unsafe { std::slice::from_raw_parts(elements.cast::<c_uchar>(), size) }
    };
    let from = Tagged { tag, class_tag };
    // SAFETY: `follow_references` passed this pointer.
    unsafe {
        on_visit::<V>(walk, |visitor| {
            visitor.primitive_array(of as u8, from, length, bytes)
        })
    }
}
