//! The agent as a JVMPI profiler: handles JVMPI's events and writes the profile.

use std::collections::HashMap;
use std::ffi::CStr;
use std::io::Write;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use loadhook_jvm::jvmpi::event;
use loadhook_profile::Profile;
use loadhook_profile::format::pprof;
use loadhook_profile::snapshot::Snapshot;
use loadhook_settings::OptionsError;
use thiserror::Error;

use super::calls::Calls;
use super::events::Event;
use super::recorder::{self, Recorder};
use super::report;
use super::settings::{self, NeedsJvmti};
use crate::diagnostics;
use crate::jvm::jni::Jni;
use crate::jvm::jni_calls::Argument;
use crate::jvm::jvmpi::interface::Jvmpi;
use crate::load;
use crate::options::{IncludeFileError, Options};
use crate::snapshot::assembly::{self, AssemblyError, StartTime};
use crate::snapshot::writer::{ProfileWriter, WriteError};
use crate::snapshot::{manifest, symbols};
use crate::tracker::client::NoSnapshot;
use crate::tracker::heap_reserve::has_concurrent_collector;

/// A note that each profile gets.
const NOTE: &str = "recorded through JVMPI, which does not report class loaders, hidden classes and virtual threads";

/// The note of a profile whose objects cannot be collected before it is written.
const AT_LAST_COLLECTION: &str = "some objects shown as alive may be dead: this garbage collector cannot run while the JVM ends, so only objects that it freed before are known to be dead";

/// The reason why the agent is not loaded as a JVMPI profiler.
#[derive(Debug, Error)]
pub(crate) enum NotLoaded {
    #[error(transparent)]
    Options(#[from] OptionsError),
    #[error(transparent)]
    IncludeFile(#[from] IncludeFileError),
    #[error(transparent)]
    NeedsJvmti(#[from] NeedsJvmti),
    #[error(
        "this JVM does not support JVMPI, so nothing is recorded; load the agent with -agentpath instead of -Xrun, and HPROF with -agentlib:hprof=OPTIONS"
    )]
    NoJvmpi,
    #[error("the agent is loaded already; load it once")]
    Twice,
    #[error(
        "this JVM cannot send event {0} of JVMPI, without which nothing can be recorded; run without the agent"
    )]
    NoEvent(i32),
    #[error("this JVM cannot send event {0} of JVMPI, which alloc= needs; leave out alloc=")]
    NoObjects(i32),
}

/// The agent in a JVM with JVMPI.
pub(crate) struct Profiler {
    jvmpi: Jvmpi,
    calls: Calls,
    recorder: Option<Recorder>,
    start_time: StartTime,
    /// The command of the program, and the name and version of the JVM. Read before methods have probes.
    described: OnceLock<[String; 2]>,
    has_ended: AtomicBool,
}

/// Reads the options, and makes the profiler.
pub(crate) fn load(jvmpi: Jvmpi, text: &str) -> Result<Profiler, NotLoaded> {
    let settings = settings::for_jvmpi(load::parse(text)?)?;
    let options = Options::resolve(settings, std::process::id())?;
    if let Some(manifest) = &options.manifest {
        manifest::check(manifest, options.settings.quiet);
    }
    load::check_file(&options);
    let most_sites = options.settings.max_nodes as usize;
    let records = options.settings.alloc.is_some();
    Ok(Profiler {
        jvmpi,
        calls: Calls::new(options),
        recorder: records.then(|| Recorder::new(most_sites)),
        start_time: StartTime::now(),
        described: OnceLock::new(),
        has_ended: AtomicBool::new(false),
    })
}

impl Profiler {
    /// Enables the events that the options need. They may come before this function returns.
    pub(crate) fn enable_events(&self) -> Result<(), NotLoaded> {
        let always = [
            event::JVM_INIT_DONE,
            event::JVM_SHUT_DOWN,
            event::THREAD_END,
        ];
        for event in always {
            if !self.jvmpi.enable(event) {
                return Err(NotLoaded::NoEvent(event));
            }
        }
        if self.recorder.is_none() {
            return Ok(());
        }
        for event in recorder::OPTIONAL {
            self.jvmpi.enable(event);
        }
        for event in recorder::NEEDED {
            if !self.jvmpi.enable(event) {
                return Err(NotLoaded::NoObjects(event));
            }
        }
        Ok(())
    }

    /// Handles an event.
    pub(crate) fn handle(&self, event: Event<'_>) {
        match &event {
            Event::InitDone(jni) => self.begin(*jni),
            Event::ShutDown(jni) => self.end(*jni),
            Event::ThreadEnd { jni, .. } => self.calls.thread_ends(*jni),
            _ => {}
        }
        if let Some(recorder) = &self.recorder {
            recorder.handle(self.jvmpi, event);
        }
    }

    /// Instruments a class into a buffer from `allocate`; `None` if the class stays as it is.
    pub(crate) fn instrument<B: AsMut<[u8]>>(
        &self,
        bytes: &[u8],
        allocate: impl FnOnce(usize) -> Option<B>,
    ) -> Option<B> {
        self.calls.instrument(bytes, allocate)
    }

    /// Returns the recorded objects.
    #[cfg(test)]
    pub(crate) fn recorder(&self) -> Option<&Recorder> {
        self.recorder.as_ref()
    }

    /// Handles the end of the JVM's initialisation: begins to record calls, if the options ask for them.
    fn begin(&self, jni: Option<Jni<'_>>) {
        if let Some(jni) = jni {
            let [command, vm_info, name, version] = properties(jni);
            let _ = self.described.set([command, format!("{name} {version}")]);
            if self.calls.hook.options().rewrites() {
                match self.calls.begin(jni, &vm_info) {
                    // A VM that supports it also calls the hook for the classes that are loaded already.
                    Ok(()) if self.jvmpi.enable(event::CLASS_LOAD_HOOK) => {}
                    Ok(()) => diagnostics::once(
                        "the JVM offers no class-load hook; nothing is instrumented",
                    ),
                    Err(error) => diagnostics::once(&error.to_string()),
                }
            } else {
                // A JVM of JDK 1.2 to 5 does not load the tracker's classes. Then no reserve is kept.
                let _ = self.calls.keep_reserve(jni);
            }
        }
        if let Some(recorder) = &self.recorder {
            recorder.count(true);
        }
    }

    /// Handles the end of the JVM: writes the profile.
    fn end(&self, jni: Option<Jni<'_>>) {
        if self.has_ended.swap(true, Ordering::SeqCst) {
            return;
        }
        // From here on, allocated objects are the agent's, not the program's.
        if let Some(recorder) = &self.recorder {
            recorder.count(false);
            if self.can_collect() {
                self.jvmpi.run_gc();
            }
        }
        match self.write(jni) {
            Ok(_) if self.calls.hook.options().settings.quiet => {}
            Ok(file) => diagnostics::line(&format!("profile written to {}", file.display())),
            Err(error) => diagnostics::line(&format!("no profile: {error}")),
        }
    }

    /// Returns whether a collection can be requested while the JVM is ending.
    fn can_collect(&self) -> bool {
        match self.calls.tracker() {
            Some(tracker) => !tracker.reserve.has_concurrent_collector,
            None => !has_concurrent_collector(),
        }
    }

    /// Writes the profile, and returns the name of its file.
    fn write(&self, jni: Option<Jni<'_>>) -> Result<PathBuf, WriteError> {
        let profile = self.profile(self.counted(jni)?);
        let options = self.calls.hook.options();
        let content = |out: &mut dyn Write| pprof::write(&profile, out);
        let written = ProfileWriter::default().put(options, &options.file, content, || true);
        written.map_err(|error| WriteError::Io {
            file: options.file.clone(),
            error,
        })
    }

    /// Takes a snapshot of the recorded calls; `None` if calls are not recorded.
    fn counted(&self, jni: Option<Jni<'_>>) -> Result<Option<Snapshot>, AssemblyError> {
        let (Some(jni), Some(tracker)) = (jni, self.calls.tracker()) else {
            return Ok(None);
        };
        let collect = || {
            self.jvmpi.run_gc();
            true
        };
        if !tracker.reserve.has_room_at_exit(jni, collect) {
            return Err(NoSnapshot::HeapFull.into());
        }
        assembly::counted(tracker, jni, || true).map(Some)
    }

    fn profile(&self, counted: Option<Snapshot>) -> Profile {
        let hook = &self.calls.hook;
        let counted = counted.unwrap_or_else(|| Snapshot {
            header: assembly::header(hook.options(), &self.start_time),
            threads: Vec::new(),
            method_calls: Vec::new(),
            latencies: Vec::new(),
        });
        let classes = hook.registry.classes();
        // JVMPI does not report loaders, so all have an empty name.
        let loaders: HashMap<u32, String> = classes
            .iter()
            .map(|class| (class.loader.number, String::new()))
            .collect();
        let symbols = match self.calls.tracker() {
            Some(tracker) => symbols::symbols(classes, &loaders, &tracker.sizes),
            None => Default::default(),
        };
        let mut profile = symbols.profile(counted);
        let header = &mut profile.header;
        if let Some([command, jvm]) = self.described.get() {
            (header.command, header.jvm) = (command.clone(), jvm.clone());
        }
        hook.describe(header);
        header.notes.push(NOTE.to_owned());
        header.notes.extend(hook.registry.notes());
        if let Some(recorder) = &self.recorder {
            if !self.can_collect() {
                profile.header.notes.push(AT_LAST_COLLECTION.to_owned());
            }
            report::add_to(recorder, &mut profile);
        }
        profile
    }
}

/// Returns four system properties: the program's command, `java.vm.info`, and the name and version of the JVM. An
/// unknown property is empty.
fn properties(jni: Jni<'_>) -> [String; 4] {
    const NAMES: [&CStr; 4] = [
        c"sun.java.command",
        c"java.vm.info",
        c"java.vm.name",
        c"java.vm.version",
    ];
    let found = jni.framed(|jni| {
        let system = jni.find_class(c"java/lang/System").ok()?;
        let descriptor = c"(Ljava/lang/String;)Ljava/lang/String;";
        let get = jni.static_method(system, c"getProperty", descriptor).ok()?;
        Some(NAMES.map(|name| {
            let value = jni.new_string(name).and_then(|name| {
                let value = jni.call_object(get, &[Argument::Object(name)])?;
                if value.is_null() {
                    return Ok(String::new());
                }
                jni.text(value)
            });
            value.unwrap_or_default()
        }))
    });
    found.flatten().unwrap_or_default()
}
