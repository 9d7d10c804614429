//! Field numbers of the message `Profile` in `profile.proto`, and of Loadhook's own fields.

/// The first word of the first comment.
pub(super) const COMMENT_PREFIX: &str = "Loadhook";

pub(super) const SAMPLE_TYPE: u32 = 1;
pub(super) const SAMPLE: u32 = 2;
pub(super) const MAPPING: u32 = 3;
pub(super) const LOCATION: u32 = 4;
pub(super) const FUNCTION: u32 = 5;
pub(super) const STRING_TABLE: u32 = 6;
pub(super) const TIME_NANOS: u32 = 9;
pub(super) const DURATION_NANOS: u32 = 10;
pub(super) const PERIOD_TYPE: u32 = 11;
pub(super) const PERIOD: u32 = 12;
pub(super) const COMMENT: u32 = 13;
pub(super) const DEFAULT_SAMPLE_TYPE: u32 = 14;
pub(super) const LOADHOOK_HEADER: u32 = 1000;
pub(super) const LOADHOOK_METHODS: u32 = 1001;
pub(super) const LOADHOOK_THREAD: u32 = 1002;
pub(super) const LOADHOOK_FRAMES: u32 = 1003;
pub(super) const LOADHOOK_SITES: u32 = 1004;
pub(super) const LOADHOOK_SAMPLING: u32 = 1005;
pub(super) const LOADHOOK_METHOD_CALLS: u32 = 1006;
pub(super) const LOADHOOK_LOCK_FRAMES: u32 = 1007;
pub(super) const LOADHOOK_LOCK_WAITS: u32 = 1008;
pub(super) const LOADHOOK_GC_PAUSES: u32 = 1010;
pub(super) const LOADHOOK_COMPILED: u32 = 1011;
pub(super) const LOADHOOK_INLINED: u32 = 1012;
pub(super) const LOADHOOK_LATENCIES: u32 = 1013;
