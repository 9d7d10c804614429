//! The interrupted thread: its registers, its last Java frame, and its stack. Reads of the stack are checked against
//! its bounds.

pub(super) const WORD: usize = size_of::<usize>();

/// The registers of the interrupted thread that the walk needs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Registers {
    pub(super) pc: usize,
    pub(super) sp: usize,
    pub(super) fp: usize,
    /// The address of the method that the interpreter is about to run, until the interpreter has made its frame.
    pub(super) rbx: usize,
    /// The caller's stack pointer, until the interpreter has made its frame; then the address of the instruction that
    /// is interpreted.
    pub(super) r13: usize,
}

/// The last Java frame, which the JVM notes when a thread leaves Java code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Anchor {
    pub(super) sp: usize,
    pub(super) pc: usize,
    pub(super) fp: usize,
}

/// Access to the memory of the interrupted thread.
pub(super) trait ThreadMemory {
    /// Returns the end of the stack: the address after its highest byte.
    fn stack_end(&self) -> usize;
    /// Returns a word of the stack. The word must lie between the stack pointer of the interrupted thread and the
    /// stack's end.
    fn stack_word(&self, address: usize) -> usize;
    /// Returns a byte of the generated code that the thread runs.
    fn code_byte(&self, address: usize) -> u8;
    /// Returns the thread's anchor.
    fn anchor(&self) -> Anchor;
    /// Returns whether the thread's state is `_thread_in_Java`. The state is the same in native code that Java code
    /// calls without leaving Java.
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

    /// Returns whether the word at `address` and the next three words are in the stack and not below `low`.
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

    /// Returns the word that lies `words` words above `address`; `None` outside the stack, or if `address` is not
    /// aligned.
    pub(super) fn word(&self, address: usize, words: usize) -> Option<usize> {
        let address = address.checked_add(words.checked_mul(WORD)?)?;
        let end = address.checked_add(WORD)?;
        let is_inside = address >= self.top && end <= self.end && address.is_multiple_of(WORD);
        is_inside.then(|| self.memory.stack_word(address))
    }

    /// Returns the word that lies `words` words below `address`.
    pub(super) fn word_below(&self, address: usize, words: usize) -> Option<usize> {
        self.word(address.checked_sub(words.checked_mul(WORD)?)?, 0)
    }
}
