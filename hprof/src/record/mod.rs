//! The kinds of records, each with its reading and its writing.

pub(crate) mod alloc_sites;
pub(crate) mod class_dump;
pub(crate) mod control_settings;
pub(crate) mod cpu_samples;
pub(crate) mod header;
pub(crate) mod heap_summary;
pub(crate) mod instance;
pub(crate) mod load_class;
pub(crate) mod monitor_dump;
pub(crate) mod object_array;
pub(crate) mod primitive_array;
pub(crate) mod root;
pub(crate) mod stack_frame;
pub(crate) mod stack_trace;
pub(crate) mod thread;
pub(crate) mod trace_times;
pub(crate) mod utf8;
