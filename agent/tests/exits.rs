//! Every way to leave a method. Calls and callers must be exact, and later calls must stand below
//! the right method.

use anyhow::{Result, ensure};

mod support;
use support::{Program, TIMINGS, compiled_and_interpreted};

on_each_jdk!(methods constructors);

/// Expected calls. Half of the 10,000 rounds throw, in 12 of 16 ways. `Outside` is not
/// instrumented, so the methods that it calls stand below its caller.
const METHODS: &str = "
    - > main 1
    main > round 10000
    round > returns 10000
    round > throwsItself 10000
    round > passesOn 10000
    round > nullPointer 10000
    round > outOfBounds 10000
    round > divides 10000
    round > casts 10000
    round > allocates 10000
    round > catchesInside 10000
    round > catchesItsOwn 10000
    round > hasFinally 10000
    round > nested 10000
    round > synchronizedMethod 10000
    round > synchronizedBlock 10000
    round > throughJdk 10000
    round > throughOutside 10000
    round > outsideCatches 10000
    round > finallyReturns 100000
    passesOn > throwsItself 40000
    catchesInside > throwsItself 10000
    hasFinally > throwsItself 10000
    finallyReturns > throwsItself 100000
    nested > throwsItself 10000
    nested > passesOn 10000
    synchronizedMethod > throwsItself 10000
    synchronizedBlock > throwsItself 10000
    throughJdk > lambda$throughJdk$0 20000
    lambda$throughJdk$0 > throwsItself 20000
    throughOutside > passesOn 10000
    outsideCatches > passesOn 10000
    throwsItself > leaf 150000
    passesOn > leaf 25000
    catchesInside > leaf 15000
    catchesItsOwn > leaf 5000
    hasFinally > leaf 10000
    nested > leaf 10000
    throughOutside > leaf 5000
    outsideCatches > leaf 25000
";

fn methods(feature: u32) -> Result<()> {
    for (timing, compiler) in compiled_and_interpreted() {
        let options = format!("timing={timing},exclude=Exits$Outside");
        let program = Program::new(feature, "Exits").options(&options);
        let run = program.jvm(&[compiler]).run()?;
        run.printed("60000 caught, 245000 leaves\n", 0)?
            .calls("Exits", METHODS)?
            .sound(1)?;
    }
    Ok(())
}

/// Expected calls of constructors. Every second round throws.
const CONSTRUCTORS: &str = "
    - > main 1
    - > <clinit> 1
    main > make 120000
    make > Before.<init> 10000
    make > Perhaps.<init> 10000
    make > In.<init> 10000
    make > InTwice.<init> 10000
    make > After.<init> 10000
    make > Field.<init> 10000
    make > Delegates.<init> 10000
    make > Inner.<init> 10000
    Before.<init> > even 10000
    Before.<init> > Fine.<init> 5000
    Before.<init> > leaf 5000
    Perhaps.<init> > even 7500
    Perhaps.<init> > Fine.<init> 5000
    Perhaps.<init> > leaf 5000
    In.<init> > Fails.<init> 30000
    In.<init> > leaf 15000
    InTwice.<init> > In.<init> 10000
    InTwice.<init> > leaf 5000
    Fails.<init> > even 50000
    After.<init> > Fine.<init> 10000
    After.<init> > leaf 10000
    After.<init> > even 10000
    Field.<init> > Fine.<init> 10000
    Field.<init> > even 10000
    Delegates.<init> > Delegates.<init> 10000
    Delegates.<init> > Fails.<init> 10000
    Delegates.<init> > leaf 5000
    Inner.<init> > Inner.caught 10000
    Inner.<init> > Fine.<init> 10000
    Inner.<init> > leaf 10000
    Inner.caught > In.<init> 10000
    Inner.caught > leaf 5000
    make > Same.<init> 20000
    Same.<init> > Says.<init> 20000
    Same.<init> > leaf 20000
    make > Strict.<init> 20000
    Strict.<init> > leaf 20000
    make > Wrap.<init> 10000
    Wrap.<init> > Deco.<init> 15000
    Deco.<init> > even 10000
    Wrap.<init> > leaf 5000
    make > Through.<init> 10000
    Through.<init> > Fails.<init> 10000
    Through.<init> > leaf 20000
    make > leaf 40000
    main > inside 1
    inside > Always.<init> 1000000
    Always.<init> > AlwaysFails.<init> 2000000
    inside > leaf 1
    main > later 2
    later > leaf 2
    main > outside 1
    outside > Always.<init> 1000000
    outside > leaf 1
";

/// A million constructors whose `super(…)` throws leave no entry on the tracker's path, whether or
/// not their caller is instrumented.
fn constructors(feature: u32) -> Result<()> {
    let modes = TIMINGS.map(|timing| (timing, "-Xmixed"));
    for (timing, compiler) in modes.into_iter().chain([("exact", "-Xint")]) {
        let options = format!("timing={timing},exclude=Constructors$Outside*");
        let program = Program::new(feature, "Constructors").options(&options);
        let run = program.jvm(&[compiler]).run()?;
        run.printed("80000 made, 1000000 and 1000000 caught\n", 0)?
            .calls("Constructors", CONSTRUCTORS)?
            .sound(1)?;
        let bytes = run.profile.header.tracker_bytes;
        // With samples, threads count in stripes, which take at most 2 MB together.
        let stripes = if timing == "sampled" { 2 << 20 } else { 0 };
        let most = 200_000 + stripes;
        ensure!(
            bytes < most,
            "{}: the tracker used {bytes} bytes, less than {most} expected",
            run.name
        );
    }
    Ok(())
}
