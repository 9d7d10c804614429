//! `loadhook trace`: shows the slow calls of chosen methods while the program runs.

mod args;
mod parts;
mod render;

use std::cmp::Reverse;
use std::io::{self, Write};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use loadhook_settings::control::{
    self, Changed, Latency, Reply, Request, TraceOrder, Traced, ValueTexts,
};
use loadhook_text::printable;
use loadhook_text::units::counted;

use self::args::Format;
pub(crate) use self::args::TraceArgs;
use self::parts::Parts;
use self::render::ChromeEvents;
use crate::attach;
use crate::ctl::{Agent, AgentLeft};
use crate::jvm::Jvm;
use crate::output::{check_writable, say, write_or_keep};
use crate::signals::{self, Noted};

/// The interval at which the agent is asked for calls.
const PERIOD: Duration = Duration::from_millis(100);

/// The way in which a trace ended.
enum End {
    /// Completely: an argument, a signal or the end of the program ended the trace.
    Whole,
    /// The agent has left, or its replies cannot be read.
    Early,
}

/// Traces methods until a signal comes, or until a limit of the arguments is reached.
pub(crate) fn run(args: &TraceArgs) -> Result<ExitCode> {
    let order = TraceOrder {
        patterns: control::patterns(&args.methods)?,
        slower_ns: args.slower.0,
        thrown: args.thrown,
        values: args.args.map(ValueTexts::from),
    };
    if let Some(output) = &args.output {
        check_writable(output)?;
    }
    let jvm = Jvm::of(args.pid)?;
    let stop = signals::noted()?;
    let mut view = View::new(args);
    let mut with = |mut agent: Agent<'_>| trace(&jvm, &mut agent, &order, args, &stop, &mut view);
    let end = match Agent::find(&jvm, Some(&stop))? {
        Some(agent) => {
            if args.budget.is_some() {
                say!(
                    "loadhook: process {} is watched already; --budget of this command has no effect",
                    args.pid
                );
            }
            with(agent)?
        }
        None => {
            let work = || with(Agent::connect(&jvm, Some(&stop))?);
            let done = attach::during(&jvm, args.budget, "trace", &stop, work)?;
            match done {
                Some(end) => end,
                None => return Ok(ExitCode::from(stop.code().unwrap_or(1))),
            }
        }
    };
    view.finish()?;
    Ok(match end {
        End::Whole => ExitCode::SUCCESS,
        End::Early => ExitCode::FAILURE,
    })
}

/// Gives the order, and shows the calls until the end of the trace.
fn trace(
    jvm: &Jvm,
    agent: &mut Agent<'_>,
    order: &TraceOrder,
    args: &TraceArgs,
    stop: &Noted,
    view: &mut View<'_>,
) -> Result<End> {
    let pid = args.pid;
    match agent.ask(&Request::Trace(order.clone()))? {
        Reply::Changed(changed) => announce(pid, &changed),
        Reply::Error(error) => bail!("{error}"),
        other => bail!(
            "unexpected reply to the order trace; use a loadhook of the agent's version: {other}"
        ),
    }
    let deadline = args
        .duration
        .map(|duration| Instant::now() + duration.duration());
    // At the end, the calls that wait in the agent are still taken. New calls come meanwhile, so the number of requests
    // is limited.
    let mut last_looks = 64;
    loop {
        // The end is noticed before the calls are requested, so that all calls before the end are shown.
        let is_over = stop.code().is_some() || deadline.is_some_and(|it| Instant::now() >= it);
        let traced = match agent.ask(&Request::Traced) {
            Ok(Reply::Traced(traced)) => traced,
            failed => return Ok(tell_end(jvm, failed, stop)),
        };
        let is_idle = traced.calls.is_empty();
        view.show(traced)?;
        last_looks -= u32::from(is_over);
        if view.is_full() || is_over && (is_idle || last_looks == 0) {
            break;
        }
        if is_idle {
            thread::sleep(PERIOD);
        }
    }
    if let Ok(Reply::Latencies(latencies)) = agent.ask(&Request::Latencies) {
        view.latencies = latencies;
    }
    // If the agent has left, it has taken its probes out. The first error may be its farewell, which it sends without
    // being asked. After that it replies no more.
    if let Ok(Reply::Error(error)) = agent.ask(&Request::Untrace)
        && let Ok(Reply::Error(_)) = agent.ask(&Request::Untrace)
    {
        say!(
            "loadhook: the probes of the trace cannot be taken out ({error}); they stay until the agent leaves"
        );
    }
    Ok(End::Whole)
}

/// Prints why the agent records no more calls. The calls until then have been shown.
fn tell_end(jvm: &Jvm, failed: Result<Reply>, stop: &Noted) -> End {
    let pid = jvm.pid();
    if ends(jvm, stop) {
        say!("loadhook: process {pid} has ended");
        return End::Whole;
    }
    let reason = match failed {
        Ok(Reply::Error(error)) => error,
        Ok(other) => format!(
            "unexpected reply to the order traced; use a loadhook of the agent's version: {other}"
        ),
        Err(error) if error.is::<AgentLeft>() => {
            "the agent has left the process; start the trace again".to_owned()
        }
        Err(error) => format!("{error:#}"),
    };
    say!("loadhook: the trace of process {pid} ends early: {reason}");
    // A signal has asked for the end, and the process does not answer.
    if stop.code().is_some() {
        return End::Whole;
    }
    End::Early
}

/// Returns whether the process has ended or ends soon. The agent leaves before its process ends, so this function
/// waits. A signal ends the wait.
fn ends(jvm: &Jvm, stop: &Noted) -> bool {
    for _ in 0..50 {
        if jvm.has_ended() {
            return true;
        }
        if stop.code().is_some() {
            break;
        }
        thread::sleep(PERIOD);
    }
    false
}

fn announce(pid: u32, changed: &Changed) {
    let classes = counted(changed.figures.classes, "class", "classes");
    say!("loadhook: tracing process {pid}: {classes} changed");
    for note in &changed.notes {
        say!("loadhook: note: {}", printable(note));
    }
}

/// Shows calls.
struct View<'a> {
    args: &'a TraceArgs,
    parts: Parts,
    events: ChromeEvents,
    latencies: Vec<Latency>,
    /// The content of the output file, if its format is not Chrome's.
    file: Vec<u8>,
    shown: u64,
    lost: u64,
    lost_parts: u64,
}

impl<'a> View<'a> {
    fn new(args: &'a TraceArgs) -> View<'a> {
        View {
            args,
            parts: Parts::default(),
            events: ChromeEvents::default(),
            latencies: Vec::new(),
            file: Vec::new(),
            shown: 0,
            lost: 0,
            lost_parts: 0,
        }
    }

    /// Returns whether the number of calls that `--count` allows has been shown.
    fn is_full(&self) -> bool {
        self.args.count.is_some_and(|count| self.shown >= count)
    }

    fn show(&mut self, traced: Traced) -> Result<()> {
        self.lost += traced.lost;
        self.lost_parts += traced.lost_parts;
        let mut stdout = io::stdout().lock();
        for call in traced.calls {
            if !call.is_part {
                if self.is_full() {
                    return Ok(());
                }
                self.shown += 1;
                let parts = self.parts.of(&call);
                let out: &mut dyn Write = match self.args.output {
                    Some(_) => &mut self.file,
                    None => &mut stdout,
                };
                match self.args.format {
                    Format::Lines => render::lines(&call, &parts, out)?,
                    Format::Json => render::json(&call, &parts, out)?,
                    Format::Chrome => self.events.add(self.args.pid, &call, &parts),
                }
            }
            self.parts.add(call);
        }
        stdout.flush()?;
        Ok(())
    }

    /// Writes the parts that come at the end.
    fn finish(&mut self) -> Result<()> {
        self.latencies.sort_by_key(|it| Reverse(it.percentiles));
        match self.args.format {
            Format::Lines => render::latency_lines(&self.latencies, &mut self.file)?,
            Format::Json => render::latency_json(&self.latencies, &mut self.file)?,
            Format::Chrome => self.events.write(&self.latencies, &mut self.file)?,
        }
        match &self.args.output {
            Some(output) => write_or_keep(output, &self.file)?,
            None => io::stdout().lock().write_all(&self.file)?,
        }
        let shown = counted(self.shown, "call", "calls");
        say!("loadhook: {shown} shown");
        if self.lost > 0 {
            let lost = counted(self.lost, "further call", "further calls");
            say!(
                "loadhook: {lost} lost, because they came too fast or the heap is nearly full; give a longer time to \
                 --slower, trace fewer methods, or give the JVM more heap (-Xmx)"
            );
        }
        if self.lost_parts > 0 {
            let lost = counted(self.lost_parts, "call", "calls");
            say!(
                "loadhook: {lost} inside others not shown, because they came too fast or the heap is nearly full"
            );
        }
        if self.events.left_out > 0 {
            let left_out = counted(self.events.left_out, "call", "calls");
            say!(
                "loadhook: {left_out} not in the file, which is full; trace fewer methods, or for a shorter time"
            );
        }
        Ok(())
    }
}
