//! The help text of HPROF's options.

/// The text that the option `help` prints.
pub const HPROF_HELP: &str = "\
loadhook agent with the options of HPROF:
-agentpath:PATH/libloadhook_agent.so=hprof:OPTION=VALUE,OPTION=VALUE...

  heap=dump|sites|all    dump: all objects that can be reached, with their
                         references; sites: objects and bytes, allocated and alive, by trace
                         and class; all: both, the default if there is neither
                         cpu= nor monitor=
  cpu=samples|times|old  samples: samples of running threads by trace; times:
                         exact calls and processor time of each trace; old: only
                         a list of callees and callers, in the form of JDK 1.1
  monitor=y|n            time that threads waited for monitors and for locks of
                         java.util.concurrent, by trace and class; owners and
                         waiting threads at the end (default n)
  format=a|b             text or the binary format (default a)
  file=FILE              write to FILE (default java.hprof.txt, or java.hprof
                         with format=b)
  net=HOST:PORT          send the binary format to an address instead, and take
                         HPROF's commands from there: loadhook hprof listen PORT
  depth=N                frames of a trace (default 4)
  interval=MS            with cpu=samples: milliseconds of processor time
                         between two samples of a thread, 1 to 1000 (default 10)
  cutoff=SHARE           leave out rows below this share of the whole (default
                         0.0001)
  lineno=y|n             lines in traces (default y); with cpu=times those at
                         which methods begin
  thread=y|n             tell traces apart by thread (default n)
  force=y|n              overwrite FILE (default y); otherwise write
                         FILE.PID.txt if it exists (FILE.PID with format=b)
  verbose=y|n            print the name of the file at the end (default y)
  doe=y|n                write the file at the end of the JVM (default y)

SIGQUIT writes a file with the numbers since the start, or since the last such
file. A library named libhprof.so takes these options without hprof: before.
The options in the environment variable _JAVA_HPROF_OPTIONS are appended.
Without effect: msa, gc_okay, primfields, primarrays, logflags, debugflags,
coredump, errorexit, pause, debug, X.
";
