//! Distinguishes faults of the rewriter from differences that the JVM's rules allow.

use loadhook_rewrite::Report;
use loadhook_testclasses::mutate::class::{Class, Code};
use loadhook_testclasses::mutate::instructions::starts;
use loadhook_testkit::pairs::Verdict;

/// Returns whether the mutant's locks may be unbalanced: the code or the handlers of a method with
/// locks differ from the seed's.
pub(crate) fn locks_differ(seed: &[u8], mutant: &[u8]) -> bool {
    let locking = |class: &[u8]| -> Vec<(usize, Code)> {
        let methods = Class::parse(class).map_or(Vec::new(), |it| it.methods);
        let codes = methods
            .iter()
            .enumerate()
            .filter_map(|(i, it)| Some((i, it.code()?.clone())));
        let locks = |code: &Code| {
            starts(&code.bytes)
                .unwrap_or_default()
                .iter()
                .any(|&at| matches!(code.bytes[at], 0xc2 | 0xc3))
        };
        let mut codes: Vec<_> = codes.filter(|it| locks(&it.1)).collect();
        codes.iter_mut().for_each(|it| it.1.attributes.clear());
        codes
    };
    locking(seed) != locking(mutant)
}

/// Returns the fault that a verdict shows, if any.
pub(crate) fn fault(
    verdict: &Verdict,
    report: &Report,
    class: &[u8],
    comparable: bool,
) -> Option<String> {
    let is_linked = verdict.rewritten.as_ref().is_none_or(|it| it.link.is_ok());
    if is_linked && !comparable {
        return None;
    }
    if let Some(disagreement) = verdict.disagreement() {
        return Some(disagreement);
    }
    if verdict.nondeterministic {
        return None;
    }
    let unbalanced = verdict
        .unbalanced()
        .filter(|_| !left_behind(verdict, report, class));
    unbalanced.or_else(|| unexplained(verdict, report, class))
}

/// Returns whether entries are left on the path for an allowed reason: a constructor's super call
/// threw, and `run` has no probes that would remove the entries.
fn left_behind(verdict: &Verdict, report: &Report, class: &[u8]) -> bool {
    let Some(parsed) = Class::parse(class) else {
        return false;
    };
    let is_run = |method: u16| {
        parsed
            .methods
            .get(usize::from(method))
            .is_some_and(|it| parsed.utf8(it.name) == b"run")
    };
    let missing = verdict
        .rewritten
        .as_ref()
        .and_then(|it| it.ran())
        .is_none_or(|it| it.tracker.missing != 0);
    !missing
        && report.left_alone.iter().any(|it| is_run(it.method))
        && constructor_ran(verdict, &parsed)
}

/// Returns whether the tracker's log shows that a constructor was entered.
fn constructor_ran(verdict: &Verdict, class: &Class) -> bool {
    let Some(ran) = verdict.rewritten.as_ref().and_then(|it| it.ran()) else {
        return false;
    };
    let is_constructor = |id: &str| {
        let method = id
            .split(' ')
            .next_back()
            .and_then(|it| it.parse().ok())
            .and_then(|it: usize| class.methods.get(it));
        method.is_some_and(|it| class.utf8(it.name) == b"<init>")
    };
    let is_cut = ran.log.matches(',').count() >= 255;
    is_cut
        || ran
            .log
            .split(", ")
            .filter_map(|it| it.strip_prefix("ENTER "))
            .any(is_constructor)
}

/// Returns a fault if the tracker removed left-over entries without a known reason. Known reasons
/// are a constructor whose super call threw, and a constructor that the added handlers cover only
/// in part.
fn unexplained(verdict: &Verdict, report: &Report, class: &[u8]) -> Option<String> {
    let ran = verdict.rewritten.as_ref()?.ran()?;
    let tracker = &ran.tracker;
    if tracker.healed == 0 || tracker.lost != 0 || is_overflowed(verdict) {
        return None;
    }
    if constructor_ran(verdict, &Class::parse(class)?) {
        return None;
    }
    Some(format!(
        "the tracker removed {} left-over entries, although no constructor ran: {} ({report:?})",
        tracker.healed, ran.log
    ))
}

pub(crate) fn is_overflowed(verdict: &Verdict) -> bool {
    let overflowed =
        |call: &String| call.contains("StackOverflowError") || call.contains("OutOfMemoryError");
    verdict
        .original
        .ran()
        .is_some_and(|it| it.calls.iter().any(overflowed))
}

/// Shortens a message with the output of both runs to the first line that differs.
pub(crate) fn short(message: &str) -> String {
    let parts = message
        .strip_prefix("original:")
        .and_then(|it| it.split_once("\nrewritten:"));
    let differing = parts.and_then(|(a, b)| a.lines().zip(b.lines()).find(|(a, b)| a != b));
    match differing {
        Some((original, rewritten)) => format!("original: {original}\n  rewritten: {rewritten}"),
        None => message.to_owned(),
    }
}
