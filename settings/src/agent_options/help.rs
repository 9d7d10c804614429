//! The help text of the agent's options.

/// The text that the option `help` prints.
pub const HELP: &str = "\
loadhook agent: -agentpath:PATH/libloadhook_agent.so=OPTION,OPTION...

  include=PATTERN,PATTERN   instrument only what these patterns name:
                            com.example.*, com.example.**,
                            com.example.Service::handle*, @com.example.Timed
                            (default: every class that is not the JDK's)
  include=none              instrument no class: samples only, calls are not
                            counted
  exclude=PATTERN,PATTERN   do not instrument what these patterns name
  include-file=FILE         read patterns to include from FILE, one a line;
                            # begins a comment
  all=true                  also instrument trivial methods: at most 24
                            instructions, no call, no loop (timing=sampled
                            counts them anyway)
  timing=sampled            count every call of each method, take times from
                            samples: about 1 ns a call (default)
  timing=adaptive           count every call by caller, until the budget takes
                            a method's timing probes; time each, but short hot
                            calls only at random: 10 to 33 ns a call
  timing=exact              count and time every call by caller: two clock
                            readings for each call
  timing=count              count every call by caller, take no times: a little
                            cheaper than adaptive
  timing=none               record no calls and no times; only with alloc= or
                            locks=
  latencies=true            also count timed calls by their durations, for
                            percentiles (timing=exact, which is then the
                            default, or adaptive): about 15 ns more a call
  clock=wall|cpu            with timing=adaptive or exact: time calls by elapsed
                            time (wall, default) or by processor time of the
                            thread (cpu); with timing=sampled, wall samples
                            waiting threads, too
  budget=PERCENT|none       maximum processor time for the agent, in percent of
                            the program's own; none for no limit (default 25
                            with timing=adaptive, else none; for an attached
                            agent 10, with timing=exact or count none); above
                            this limit, hot methods lose probes; if that is not
                            enough, the agent leaves
  sampler=auto|async|safepoint
                            for timing=sampled: sample threads where they are
                            (async), at the next safepoint (safepoint), or by
                            async if the JVM allows it (auto, default)
  interval=TIME             for timing=sampled: processor time between two
                            samples of a thread, 50us to 1s (default 1ms)
  clock-source=timer|perf   for timing=sampled: measure the interval by a timer
                            (default), at the kernel's own tick, or by a
                            performance event, which is precise and costs more
  alloc=exact               count every allocation of the instrumented classes
  alloc=sampled[=BYTES]     sample the allocations of all classes, one in BYTES
                            bytes on average (default 512k)
  alloc=live[=BYTES]        sample as alloc=sampled does, and find out which
                            sampled objects are still alive
  alloc=live=exact          record every allocation of all classes, and find out
                            which objects are still alive; allocations that
                            the JIT compiler removes are not seen
  alloc-context=true        also record the calls that led to each allocation
                            (only with alloc=exact); they are counted, not
                            timed, unless timing=adaptive or exact is given
  locks=true                record how often and how long threads wait for
                            monitors and for locks of java.util.concurrent, and
                            which threads hold them meanwhile
  max-nodes=N               maximum number of call-tree nodes (default 1000000)
  file=FILE                 write the profile to FILE; %p in its name is the
                            process id (default loadhook-%p.pb.gz)
  snapshot-every=TIME       also write the profile at this interval, for example
                            500ms, 10s or 5m (at least 100ms); if the JVM is
                            killed, the last one remains
  gc=true                   record the pauses of the garbage collector by their
                            causes
  jit=true                  record the methods that the JIT compiler compiles
                            and inlines (only with timing=sampled)
  explain=true              keep the names of the methods not instrumented
  quiet=true                do not print the name of the profile at exit
  control=true              take orders from loadhook ctl while the program runs
  manifest=FILE             append the name of the profile and a zero byte to
                            FILE; if FILE lists that name already, write
                            x.2.pb.gz instead; a rewritten archive
                            appends its profile's name with a + before it
  duration=TIME             only for an agent that is attached to a running JVM:
                            write the profile and leave after this time
  answer=FILE               only for an attached agent: append messages to FILE;
                            leave when the lock on FILE is released

In paths and patterns, write \\, for a comma and \\\\ for a backslash.
After hprof: the options are those of HPROF instead (hprof:help lists them).
";
