//! Tags of records.

/// Tags of the records at the top level of a dump.
pub(crate) mod top {
    pub(crate) const UTF8: u8 = 0x01;
    pub(crate) const LOAD_CLASS: u8 = 0x02;
    pub(crate) const UNLOAD_CLASS: u8 = 0x03;
    pub(crate) const STACK_FRAME: u8 = 0x04;
    pub(crate) const STACK_TRACE: u8 = 0x05;
    pub(crate) const ALLOC_SITES: u8 = 0x06;
    pub(crate) const HEAP_SUMMARY: u8 = 0x07;
    pub(crate) const START_THREAD: u8 = 0x0a;
    pub(crate) const END_THREAD: u8 = 0x0b;
    /// A heap dump of version 1.0.1: all heap records in one record.
    pub(crate) const HEAP_DUMP: u8 = 0x0c;
    pub(crate) const CPU_SAMPLES: u8 = 0x0d;
    pub(crate) const CONTROL_SETTINGS: u8 = 0x0e;
    /// A heap segment of version 1.0.2: a record that contains some of the dump's heap records.
    pub(crate) const HEAP_DUMP_SEGMENT: u8 = 0x1c;
    /// The end of a heap dump in segments.
    pub(crate) const HEAP_DUMP_END: u8 = 0x2c;
    /// Calls and times by trace: a record of our own, whose tag HPROF and HotSpot do not use.
    pub(crate) const CPU_TIMES: u8 = 0x40;
    /// Contended monitors by trace: another record of our own.
    pub(crate) const MONITOR_TIMES: u8 = 0x41;
    /// The state of a thread in a dump of monitors: a record of our own, too.
    pub(crate) const DUMPED_THREAD: u8 = 0x42;
    /// A monitor in a dump of monitors: a record of our own, too.
    pub(crate) const DUMPED_MONITOR: u8 = 0x43;

    /// Contended locks of `java.util.concurrent` by trace: a record of our own, too.
    pub(crate) const PARK_TIMES: u8 = 0x44;

    /// All tags of the top level.
    pub(crate) const ALL: [u8; 19] = [
        UTF8,
        LOAD_CLASS,
        UNLOAD_CLASS,
        STACK_FRAME,
        STACK_TRACE,
        ALLOC_SITES,
        HEAP_SUMMARY,
        START_THREAD,
        END_THREAD,
        HEAP_DUMP,
        CPU_SAMPLES,
        CONTROL_SETTINGS,
        HEAP_DUMP_SEGMENT,
        HEAP_DUMP_END,
        CPU_TIMES,
        MONITOR_TIMES,
        DUMPED_THREAD,
        DUMPED_MONITOR,
        PARK_TIMES,
    ];
}

/// Tags of the records in a heap segment. The tags of roots are in [`RootKind`](crate::RootKind).
pub(crate) mod heap {
    pub(crate) const CLASS_DUMP: u8 = 0x20;
    pub(crate) const INSTANCE_DUMP: u8 = 0x21;
    pub(crate) const OBJECT_ARRAY_DUMP: u8 = 0x22;
    pub(crate) const PRIMITIVE_ARRAY_DUMP: u8 = 0x23;
}
