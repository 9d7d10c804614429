//! Calls that are not a plain `invoke` instruction: through reflection, lambdas, proxies, bridges, interfaces and hidden
//! classes, and calls that the JVM makes itself.

use anyhow::{Result, ensure};
use loadhook_profile::Timing;

mod support;
use support::{Finished, Program, TIMINGS};

on_each_jdk!(dispatch by_default);

/// The expected calls. Methods of the JVM and the JDK in between are not shown: a method stands
/// below the instrumented method that caused its call.
const CALLS: &str = "
    - > main 1
    main > reflection 1
    reflection > Made.<init> 1000
    reflection > reflected 1000
    reflection > leaf 500
    reflected > leaf 3000
    Made.<init> > leaf 2000
    main > handles 1
    handles > reflected 1000
    handles > negate 500
    handles > leaf 500
    main > lambda 1
    lambda > lambda$lambda$0 1000
    lambda$lambda$0 > reflected 1000
    main > reference 1
    reference > negate 1000
    main > constructorReference 1
    constructorReference > Made.<init> 1000
    main > proxy 1
    proxy > $Proxy1.<clinit> 1
    proxy > $Proxy1.<init> 1
    proxy > $Proxy1.call 1000
    $Proxy1.call > proxied 1000
    proxied > leaf 1000
    lambda$proxy$1 > leaf 1000
    main > bridge 1
    bridge > Item.<init> 1000
    bridge > Item.compareTo 999
    Item.compareTo > Item.compareTo 999
    Item.compareTo > leaf 999
    main > interfaces 1
    interfaces > Square.<init> 1
    interfaces > Other.<init> 1
    interfaces > Shape.area 500
    interfaces > Other.area 500
    Other.area > Shape.area 500
    Shape.area > Shape.own 1000
    Shape.own > leaf 1000
    Shape.own > Square.side 500
    Shape.own > Other.side 500
    Shape.area > Shape.shared 1000
    Shape.shared > leaf 1000
    main > initialisers 1
    initialisers > Parent.<clinit> 1
    Parent.<clinit> > Parent.initial 1
    Parent.initial > leaf 1
    initialisers > Child.<clinit> 1
    initialisers > Child.use 2
    initialisers > Broken.<clinit> 1
    Broken.<clinit> > Broken.fails 1
    initialisers > leaf 10
    main > enums 1
    enums > Colour.<clinit> 1
    Colour.<clinit> > Colour.<init> 1
    Colour.<clinit> > Colour$1.<init> 1
    Colour$1.<init> > Colour.<init> 1
    Colour.<clinit> > Colour.$values 1
    enums > Colour.values 1000
    enums > Colour.paint 1000
    enums > Colour$1.paint 1000
    Colour$1.paint > Colour.paint 1000
    Colour$1.paint > leaf 1000
    Colour.paint > leaf 2000
";

/// Expected calls of the proxy of a public interface. The class of the proxy is in a module of the
/// JDK from JDK 16 on, and in no named module before.
const PUBLIC_PROXY_BEFORE_16: &str = "
    proxy > com.sun.proxy.$Proxy0.<clinit> 1
    proxy > com.sun.proxy.$Proxy0.<init> 1
    proxy > com.sun.proxy.$Proxy0.run 1000
    com.sun.proxy.$Proxy0.run > lambda$proxy$1 1000
";
const PUBLIC_PROXY: &str = "
    proxy > lambda$proxy$1 1000
";

/// Expected calls of hidden classes, which exist from JDK 15 on.
const HIDDEN: &str = "
    main > hidden 1
    hidden > hide 1
    hide > Template.<init> 1
    hidden > Template.run 1000
    Template.run > leaf 1000
";

fn dispatch(feature: u32) -> Result<()> {
    for timing in TIMINGS {
        let program = Program::new(feature, "Dispatch").options(&format!("timing={timing}"));
        check(feature, program)?.sound(1)?;
    }
    Ok(())
}

/// Without options, and whatever allocations are recorded, all calls are counted, those of trivial methods too, and times
/// come from samples.
fn by_default(feature: u32) -> Result<()> {
    for options in ["", "alloc=exact", "alloc=sampled=4k", "alloc=live"] {
        let program = Program::new(feature, "Dispatch").only_options(options);
        let run = check(feature, program)?;
        run.sound(1)?;
        let (profile, name) = (&run.profile, &run.name);
        ensure!(profile.header.timing == Timing::Sampled, "{name}");
        ensure!(
            profile.sampling.as_ref().is_some_and(|it| it.samples > 0),
            "{name}"
        );
        let has_allocations = profile.allocations.is_some();
        ensure!(has_allocations != options.is_empty(), "{name}");
    }
    Ok(())
}

/// Checks calls and output of the program under the agent.
fn check(feature: u32, program: Program) -> Result<Finished> {
    let (run, calls, output) = if feature < 15 {
        let calls = format!("{CALLS}{PUBLIC_PROXY_BEFORE_16}");
        (program.run()?, calls, "1503500 14010\n")
    } else {
        let calls = format!("{CALLS}{PUBLIC_PROXY}{HIDDEN}");
        (program.args(&["hidden"]).run()?, calls, "1503500 15010\n")
    };
    run.calls("Dispatch", &calls)?.printed(output, 0)?;
    Ok(run)
}
