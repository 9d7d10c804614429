//! The interrupted thread: its registers, its last frame of Java, and its stack. Nothing outside of the stack is read.

pub(super) const WORD: usize = size_of::<usize>();

/// The registers of a thread that the walk begins with.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Registers {
    pub(super) pc: usize,
    pub(super) sp: usize,
    pub(super) fp: usize,
    /// The method that the interpreter is about to run, until its frame is made.
    pub(super) rbx: usize,
    /// The caller's stack pointer, until the interpreter's frame is made; then the address of its bytecode.
    pub(super) r13: usize,
}

/// The last frame of Java, as the JVM notes it when it leaves Java.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Anchor {
    pub(super) sp: usize,
    pub(super) pc: usize,
    pub(super) fp: usize,
}

/// The memory of the interrupted thread.
pub(super) trait ThreadMemory {
    /// The first address behind the stack.
    fn stack_end(&self) -> usize;
    /// A word of the stack, which lies between the stack pointer of the interrupted thread and the stack's end.
    fn stack_word(&self, address: usize) -> usize;
    /// A byte of the code that the thread runs.
    fn code_byte(&self, address: usize) -> u8;
    /// The thread's anchor.
    fn anchor(&self) -> Anchor;
    /// Returns whether the thread's state is `_thread_in_Java`. Native code that Java calls without leaving Java has
    /// this state too.
    fn is_in_java(&self) -> bool;
}

/// The stack of the interrupted thread, from its stack pointer on.
pub(super) struct ThreadStack<'w, M> {
    memory: &'w M,
    top: usize,
    end: usize,
}

impl<'w, M: ThreadMemory> ThreadStack<'w, M> {
    pub(super) fn new(memory: &'w M, top: usize) -> Self {
        ThreadStack {
            memory,
            top,
            end: memory.stack_end(),
        }
    }

    /// Returns whether `address` and the three words behind it can be read and lie at `low` or above.
    pub(super) fn is_frame(&self, address: usize, low: usize) -> bool {
        address >= low
            && address.is_multiple_of(WORD)
            && address
                .checked_add(4 * WORD)
                .is_some_and(|end| end <= self.end)
    }

    /// Returns whether `address` lies in the stack.
    pub(super) fn contains(&self, address: usize) -> bool {
        (self.top..self.end).contains(&address)
    }

    /// The word that lies `words` words above `address`; `None` outside the stack.
    pub(super) fn word(&self, address: usize, words: usize) -> Option<usize> {
        let address = address.checked_add(words.checked_mul(WORD)?)?;
        let end = address.checked_add(WORD)?;
        let is_inside = address >= self.top && end <= self.end && address.is_multiple_of(WORD);
        is_inside.then(|| self.memory.stack_word(address))
    }

    /// The word that lies `words` words below `address`.
    pub(super) fn word_below(&self, address: usize, words: usize) -> Option<usize> {
        self.word(address.checked_sub(words.checked_mul(WORD)?)?, 0)
    }
}
