//! JVM TI's heap functions: every object, and every reference.

use std::cell::Cell;
use std::ffi::{c_char, c_int, c_uchar, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{null, null_mut};

use super::jni::Reference;
use super::jvmti::{Env, Jvmti, MethodKey, Result, StackFrame, check};
use crate::jvm::sys::{
    FILTER_UNTAGGED, FieldId, FrameInfo, HeapCallbacks, Int, JvmtiError, Long, Object,
    ReferenceInfo, StackInfo, StackLocal, VISIT_ABORT, VISIT_OBJECTS, Value, jvmti, reference,
};

/// A field of a class.
#[derive(Clone, Debug)]
pub(crate) struct FieldInfo {
    /// In modified UTF-8.
    pub(crate) name: Vec<u8>,
    pub(crate) descriptor: Vec<u8>,
    pub(crate) is_static: bool,
}

/// A thread and its innermost frames.
pub(crate) struct ThreadStack {
    pub(crate) thread: Reference,
    pub(crate) frames: Vec<StackFrame>,
}

/// A variable of a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variable {
    pub(crate) thread_tag: Long,
    /// The frame, 0 being the innermost.
    pub(crate) depth: Int,
    pub(crate) method: MethodKey,
}

/// What refers to an object.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    /// An object's class, a class's superclass or interface.
    Class,
    Field(Int),
    Element(Int),
    ClassLoader,
    Signers,
    ProtectionDomain,
    StaticField(Int),
    Constant(Int),
    JniGlobal,
    JniLocal(Variable),
    SystemClass,
    Monitor,
    StackLocal(Variable),
    Thread,
    Other,
}

/// An object, as far as the walk tells of it. Tags can be set; an object that
/// refers to itself has one cell.
#[derive(Clone, Copy)]
pub(crate) struct Tagged<'a> {
    pub(crate) tag: &'a Cell<Long>,
    pub(crate) class_tag: Long,
}

/// What a walk shows. Nothing may call the VM there, which stands still.
/// Whoever returns `false` ends the walk.
pub(crate) trait Visitor {
    /// A reference from an object, or a root's, to another of `size` bytes;
    /// an array has a length.
    fn reference(
        &mut self,
        source: Source,
        from: Option<Tagged<'_>>,
        to: Tagged<'_>,
        size: Long,
        length: Option<u32>,
    ) -> bool;

    /// A field of an object, or a static one of a class, and its value's bits.
    /// `of` is its descriptor.
    fn primitive_field(&mut self, of: u8, index: Int, from: Tagged<'_>, bits: u64) -> bool;

    /// An array of `of` and its elements, in the machine's order of bytes.
    fn primitive_array(&mut self, of: u8, from: Tagged<'_>, length: u32, elements: &[u8]) -> bool;
}

/// A visitor, and whether it came to grief.
struct Walk<'v, V> {
    visitor: &'v mut V,
    panicked: bool,
}

/// A walk that ended by a fault of ours, which was told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Panicked;

/// Bytes of a value, by the first byte of its descriptor. References count as 8,
/// their identifiers being tags.
pub(crate) fn size_of(descriptor: u8) -> usize {
    match descriptor {
        b'Z' | b'B' => 1,
        b'C' | b'S' => 2,
        b'I' | b'F' => 4,
        _ => 8,
    }
}

impl Jvmti {
    /// The class's own fields, in the order of the class file.
    pub(crate) fn class_fields(self, class: Reference) -> Result<Vec<FieldInfo>> {
        type F = unsafe extern "system" fn(Env, Object, *mut Int, *mut *mut FieldId) -> JvmtiError;
        let (mut count, mut fields): (Int, *mut FieldId) = (0, null_mut());
        // SAFETY: both are written before success is reported.
        check(unsafe {
            self.function::<F>(jvmti::GET_CLASS_FIELDS)(self.env, class.0, &mut count, &mut fields)
        })?;
        let ids = match fields.is_null() {
            true => Vec::new(),
            // SAFETY: the VM wrote `count` ids.
            false => unsafe { std::slice::from_raw_parts(fields, count.max(0) as usize) }.to_vec(),
        };
        self.deallocate(fields.cast());
        ids.into_iter()
            .map(|field| self.field(class, field))
            .collect()
    }

    fn field(self, class: Reference, field: FieldId) -> Result<FieldInfo> {
        const ACC_STATIC: Int = 8;
        type Name = unsafe extern "system" fn(
            Env,
            Object,
            FieldId,
            *mut *mut c_char,
            *mut *mut c_char,
            *mut *mut c_char,
        ) -> JvmtiError;
        type Modifiers = unsafe extern "system" fn(Env, Object, FieldId, *mut Int) -> JvmtiError;
        let (mut name, mut descriptor): (*mut c_char, *mut c_char) = (null_mut(), null_mut());
        let mut modifiers: Int = 0;
        // SAFETY: the field is the class's; a null generic signature is not
        // asked for.
        check(unsafe {
            self.function::<Name>(jvmti::GET_FIELD_NAME)(
                self.env,
                class.0,
                field,
                &mut name,
                &mut descriptor,
                null_mut(),
            )
        })?;
        let (name, descriptor) = (self.take_string(name), self.take_string(descriptor));
        // SAFETY: as above.
        check(unsafe {
            self.function::<Modifiers>(jvmti::GET_FIELD_MODIFIERS)(
                self.env,
                class.0,
                field,
                &mut modifiers,
            )
        })?;
        Ok(FieldInfo {
            name,
            descriptor,
            is_static: modifiers & ACC_STATIC != 0,
        })
    }

    /// The interfaces that a class names itself, as local references.
    pub(crate) fn interfaces(self, class: Reference) -> Result<Vec<Reference>> {
        type F = unsafe extern "system" fn(Env, Object, *mut Int, *mut *mut Object) -> JvmtiError;
        let (mut count, mut classes): (Int, *mut Object) = (0, null_mut());
        // SAFETY: both are written before success is reported.
        check(unsafe {
            self.function::<F>(jvmti::GET_IMPLEMENTED_INTERFACES)(
                self.env,
                class.0,
                &mut count,
                &mut classes,
            )
        })?;
        Ok(self.take_references(count, classes))
    }

    /// The platform threads, as local references of the calling thread.
    pub(crate) fn threads(self) -> Result<Vec<Reference>> {
        type F = unsafe extern "system" fn(Env, *mut Int, *mut *mut Object) -> JvmtiError;
        let (mut count, mut threads): (Int, *mut Object) = (0, null_mut());
        // SAFETY: both are written before success is reported.
        check(unsafe {
            self.function::<F>(jvmti::GET_ALL_THREADS)(self.env, &mut count, &mut threads)
        })?;
        Ok(self.take_references(count, threads))
    }

    /// The innermost `most` frames of each of some threads: those that have
    /// ended have none.
    pub(crate) fn stacks(self, threads: &[Reference], most: Int) -> Result<Vec<ThreadStack>> {
        type F = unsafe extern "system" fn(
            Env,
            Int,
            *const Object,
            Int,
            *mut *mut StackInfo,
        ) -> JvmtiError;
        let threads: Vec<Object> = threads.iter().map(|thread| thread.0).collect();
        let mut stacks: *mut StackInfo = null_mut();
        // SAFETY: the VM reads as many references as it is told, and writes
        // `stacks` before success is reported.
        check(unsafe {
            self.function::<F>(jvmti::GET_THREAD_LIST_STACK_TRACES)(
                self.env,
                threads.len() as Int,
                threads.as_ptr(),
                most,
                &mut stacks,
            )
        })?;
        let found = match stacks.is_null() {
            true => &[][..],
            // SAFETY: the VM wrote a stack for each thread.
            false => unsafe { std::slice::from_raw_parts(stacks, threads.len()) },
        };
        let stack = |info: &StackInfo| {
            let frames: &[FrameInfo] = match info.frame_buffer.is_null() {
                true => &[],
                // SAFETY: the VM wrote so many frames, in the same memory.
                false => unsafe {
                    let count = info.frame_count.max(0) as usize;
                    std::slice::from_raw_parts(info.frame_buffer, count)
                },
            };
            ThreadStack {
                thread: Reference(info.thread),
                frames: frames.iter().map(StackFrame::of).collect(),
            }
        };
        let all = found.iter().map(stack).collect();
        self.deallocate(stacks.cast());
        Ok(all)
    }

    /// An object's tag in this environment; 0 where it has none.
    pub(crate) fn tag(self, object: Reference) -> Result<Long> {
        type F = unsafe extern "system" fn(Env, Object, *mut Long) -> JvmtiError;
        let mut tag: Long = 0;
        // SAFETY: `tag` is written before success is reported.
        check(unsafe { self.function::<F>(jvmti::GET_TAG)(self.env, object.0, &mut tag) })?;
        Ok(tag)
    }

    /// How many objects the heap has.
    pub(crate) fn count_objects(self) -> Result<u64> {
        let mut objects: u64 = 0;
        // SAFETY: the callback takes what `objects` is.
        unsafe { self.iterate(0, count_object, (&raw mut objects).cast()) }?;
        Ok(objects)
    }

    /// The tags of the objects that the heap has, dead ones that no collection
    /// has met among them.
    pub(crate) fn tags(self) -> Result<Vec<Long>> {
        let mut tags: Vec<Long> = Vec::new();
        // SAFETY: the callback takes what `tags` is.
        unsafe { self.iterate(FILTER_UNTAGGED, note_tag, (&raw mut tags).cast()) }?;
        Ok(tags)
    }

    /// Shows all objects but those that `filter` says.
    ///
    /// # Safety
    /// `callback` must take `data`, as what it is.
    unsafe fn iterate(self, filter: Int, callback: OnObject, data: *mut c_void) -> Result<()> {
        type F = unsafe extern "system" fn(
            Env,
            Int,
            Object,
            *const HeapCallbacks,
            *mut c_void,
        ) -> JvmtiError;
        let callbacks = HeapCallbacks {
            heap_iteration: callback as *const c_void,
            heap_reference: null(),
            primitive_field: null(),
            array_primitive_value: null(),
            others: [null(); 12],
        };
        // SAFETY: of all classes; `data` outlives the call, whose callbacks
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

    /// Shows a visitor all that is reached from the roots, while the VM stands
    /// still.
    pub(crate) fn follow_references<V: Visitor>(
        self,
        visitor: &mut V,
    ) -> Result<std::result::Result<(), Panicked>> {
        type F = unsafe extern "system" fn(
            Env,
            Int,
            Object,
            Object,
            *const HeapCallbacks,
            *mut c_void,
        ) -> JvmtiError;
        let callbacks = HeapCallbacks {
            heap_iteration: null(),
            heap_reference: heap_reference::<V> as *const c_void,
            primitive_field: primitive_field::<V> as *const c_void,
            array_primitive_value: array_primitive_value::<V> as *const c_void,
            others: [null(); 12],
        };
        let mut walk = Walk {
            visitor,
            panicked: false,
        };
        // SAFETY: no filter, no class and no object to begin at; the walk
        // outlives the call, whose callbacks come one after the other.
        check(unsafe {
            self.function::<F>(jvmti::FOLLOW_REFERENCES)(
                self.env,
                0,
                null_mut(),
                null_mut(),
                &callbacks,
                (&raw mut walk).cast(),
            )
        })?;
        Ok(match walk.panicked {
            true => Err(Panicked),
            false => Ok(()),
        })
    }

    /// Gives the environment back, and with it all its tags. It is used no
    /// more.
    pub(crate) fn dispose(self) {
        type F = unsafe extern "system" fn(Env) -> JvmtiError;
        // SAFETY: callers let go of their copies.
        unsafe { self.function::<F>(jvmti::DISPOSE_ENVIRONMENT)(self.env) };
    }
}

/// What `IterateThroughHeap` calls: the class's tag, the size, the tag, the
/// length, and what was passed.
type OnObject = unsafe extern "system" fn(Long, Long, *mut Long, Int, *mut c_void) -> Int;

unsafe extern "system" fn note_tag(
    _class_tag: Long,
    _size: Long,
    tag: *mut Long,
    _length: Int,
    tags: *mut c_void,
) -> Int {
    // SAFETY: what `tags` passed, and the VM's cell for the tag.
    unsafe { (*tags.cast::<Vec<Long>>()).push(*tag) };
    VISIT_OBJECTS
}

unsafe extern "system" fn count_object(
    _class_tag: Long,
    _size: Long,
    _tag: *mut Long,
    _length: Int,
    count: *mut c_void,
) -> Int {
    // SAFETY: what `count_objects` passed.
    unsafe { *count.cast::<u64>() += 1 };
    VISIT_OBJECTS
}

/// Runs `body` with the visitor; the VM sees no panic.
///
/// # Safety
/// `walk` must be what `follow_references::<V>` passed.
unsafe fn on_visit<V: Visitor>(walk: *mut c_void, body: impl FnOnce(&mut V) -> bool) -> Int {
    // SAFETY: the caller's promise; callbacks come one after the other.
    let walk = unsafe { &mut *walk.cast::<Walk<'_, V>>() };
    let goes_on = catch_unwind(AssertUnwindSafe(|| body(walk.visitor)));
    walk.panicked |= goes_on.is_err();
    match goes_on {
        Ok(true) => VISIT_OBJECTS,
        Ok(false) | Err(_) => VISIT_ABORT,
    }
}

/// The tag that the VM shows.
///
/// # Safety
/// `tag` must be null or the VM's, for the length of a callback.
unsafe fn cell<'a>(tag: *mut Long) -> Option<&'a Cell<Long>> {
    // SAFETY: the caller's promise; two of them may be of one object, which
    // cells allow.
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
    // SAFETY: the info is there for these kinds, each with its own.
    let index = || unsafe { (*info).index };
    let variable = || {
        // SAFETY: as above; that of a JNI local begins as that of others.
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
    // SAFETY: tags are the VM's; the referrer's is null for roots.
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
    // SAFETY: what `follow_references` passed.
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
    // SAFETY: the VM passes a field's info and its object's tag; a value is 8
    // bytes, of which the type says how many count.
    let (index, tag, bits) = unsafe { ((*info).index, cell(tag), value.j.cast_unsigned()) };
    let Some(tag) = tag else {
        return VISIT_OBJECTS;
    };
    let from = Tagged { tag, class_tag };
    // SAFETY: what `follow_references` passed.
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
    // SAFETY: the VM passes the array's tag.
    let Some(tag) = (unsafe { cell(tag) }) else {
        return VISIT_OBJECTS;
    };
    let length = count.max(0).cast_unsigned();
    let bytes = match elements.is_null() {
        true => &[][..],
        // SAFETY: the VM passes so many elements, which nobody changes while
        // it stands still.
        false => unsafe {
            let size = size_of(of as u8) * length as usize;
            std::slice::from_raw_parts(elements.cast::<c_uchar>(), size)
        },
    };
    let from = Tagged { tag, class_tag };
    // SAFETY: what `follow_references` passed.
    unsafe {
        on_visit::<V>(walk, |visitor| {
            visitor.primitive_array(of as u8, from, length, bytes)
        })
    }
}
