//! The C library's memory allocator, which the JVM and the agent share.

/// Gives freed memory back to the system. The C library keeps the memory that the agent has freed, for each of its
/// arenas, and an agent that comes again may use other arenas. So a program would grow each time.
pub(crate) fn give_back() {
    // Other C libraries give freed memory back by themselves.
    #[cfg(target_env = "gnu")]
    // SAFETY: glibc allows the call at any time, on any thread.
    unsafe {
        libc::malloc_trim(0);
    }
}
