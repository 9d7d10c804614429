//! Sums of the work of the JIT compiler, in one profile and over several.

use std::collections::BTreeMap;

use crate::model::{InlinedMethod, JitCode, JitMethod, Profile};

/// Adds up all compilations. [`JitMethod::method`] and [`JitMethod::size`] of the sum are 0.
pub(crate) fn sum(code: &JitCode) -> JitMethod {
    let mut sum = JitMethod::default();
    for method in &code.methods {
        add(&mut sum, method);
    }
    JitMethod {
        method: 0,
        size: 0,
        ..sum
    }
}

/// Returns the compiled methods, those with the most code first.
pub(crate) fn by_size(code: &JitCode) -> Vec<&JitMethod> {
    let mut methods: Vec<&JitMethod> = code.methods.iter().collect();
    methods.sort_by_key(|of| (std::cmp::Reverse((of.size, of.code_bytes)), of.method));
    methods
}

/// A method that was inlined, summed over all methods that it was inlined into.
pub(crate) struct Inlining {
    pub(crate) method: u32,
    /// Number of compiled methods that it was inlined into.
    pub(crate) into: u64,
    /// Number of places with an inlined call.
    pub(crate) calls: u64,
    /// The largest [`InlinedMethod::depth`].
    pub(crate) depth: u32,
}

/// Returns the inlined methods, those with the most calls first.
pub(crate) fn inlinings(code: &JitCode) -> Vec<Inlining> {
    let mut found: BTreeMap<u32, (Inlining, Option<u32>)> = BTreeMap::new();
    let mut all: Vec<&InlinedMethod> = code.inlined.iter().collect();
    all.sort_by_key(|inlined| inlined.into);
    for inlined in all {
        let nothing = Inlining {
            method: inlined.method,
            into: 0,
            calls: 0,
            depth: 0,
        };
        let (sum, last) = found.entry(inlined.method).or_insert((nothing, None));
        sum.into += u64::from(*last != Some(inlined.into));
        *last = Some(inlined.into);
        sum.calls = sum.calls.saturating_add(inlined.calls);
        sum.depth = sum.depth.max(inlined.depth);
    }
    let mut rows: Vec<Inlining> = found.into_values().map(|(sum, _)| sum).collect();
    rows.sort_by_key(|row| std::cmp::Reverse((row.calls, row.into)));
    rows
}

/// For each compiled method with inlined methods, returns the number of places with an inlined call, and the largest
/// depth.
pub(crate) fn inlined_into(code: &JitCode) -> BTreeMap<u32, (u64, u32)> {
    let mut sums: BTreeMap<u32, (u64, u32)> = BTreeMap::new();
    for inlined in &code.inlined {
        let (calls, depth) = sums.entry(inlined.into).or_default();
        *calls = calls.saturating_add(inlined.calls);
        *depth = (*depth).max(inlined.depth);
    }
    sums
}

/// Adds up the work of the JIT compilers of several profiles; `None` if no profile has recorded it. `methods` gives the
/// indexes of each profile's methods in the sum. The code of a method may differ between processes, so the sum has the
/// inlined methods of all processes.
pub(super) fn merged(profiles: &[&Profile], methods: &[Vec<u32>]) -> Option<JitCode> {
    let mut is_recorded = false;
    let mut codes: BTreeMap<u32, JitMethod> = BTreeMap::new();
    let mut inlined: BTreeMap<(u32, u32, u32), u64> = BTreeMap::new();
    for (profile, methods) in profiles.iter().zip(methods) {
        let Some(code) = &profile.jit else {
            continue;
        };
        is_recorded = true;
        let index = |method: u32| methods[method as usize];
        for of in &code.methods {
            let method = index(of.method);
            let sum = codes.entry(method).or_default();
            add(sum, of);
            sum.method = method;
        }
        for of in &code.inlined {
            let calls = inlined
                .entry((index(of.into), of.depth, index(of.method)))
                .or_default();
            *calls = of.calls.max(*calls);
        }
    }
    let inlined = inlined.into_iter();
    is_recorded.then(|| JitCode {
        methods: codes.into_values().collect(),
        inlined: inlined
            .map(|((into, depth, method), calls)| InlinedMethod {
                into,
                method,
                depth,
                calls,
            })
            .collect(),
    })
}

fn add(sum: &mut JitMethod, other: &JitMethod) {
    sum.compilations = sum.compilations.saturating_add(other.compilations);
    sum.discarded = sum.discarded.saturating_add(other.discarded);
    sum.code_bytes = sum.code_bytes.saturating_add(other.code_bytes);
    sum.size = sum.size.max(other.size);
}
