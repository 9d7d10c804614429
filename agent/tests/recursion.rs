//! Recursion is folded: a recursive call is counted at the node of its method that is already on
//! the path. Callees and exits must stay exact.

use anyhow::{Context, Result, ensure};

mod support;
use support::{Program, compiled_and_interpreted, edges, from_anywhere};

on_each_jdk!(recursion overflows);

const RECURSION: &str = "
    - > main 1
    main > fib 21891
    main > even 6000
    even > odd 5000
    even > leaf 6000
    main > first 4000
    first > second 3000
    first > leaf 3000
    second > third 3000
    second > leaf 1000
    third > leaf 3000
    main > descend 101000
    descend > leaf 10000
    main > leaf 1000
    main > Chain.<init> 10000
    Chain.<init> > leaf 10000
    first > Enough.<init> 1000
    descend > Enough.<init> 1000
    - > deep 1
    deep > depth 1000001
    deep > leaf 1
";

fn recursion(feature: u32) -> Result<()> {
    for (timing, compiler) in compiled_and_interpreted() {
        let options = format!("timing={timing}");
        let program = Program::new(feature, "Recursion").options(&options);
        let run = program.jvm(&[compiler]).run()?;
        run.printed("6765\n1034001\n", 0)?
            .calls("Recursion", RECURSION)?
            .sound(1)?;
        if compiler == "-Xint" && !matches!(timing, "count" | "sampled") {
            let nodes = run.profile.threads.iter().flat_map(|t| &t.nodes);
            let sampled = nodes.filter(|n| n.timed != n.calls).count();
            ensure!(
                sampled == 0,
                "{}: every call should be timed, but {sampled} nodes have calls that are not",
                run.name
            );
        }
    }
    Ok(())
}

/// The depth at which the stack overflows differs between runs. The program's counters show how
/// often each method ran.
fn overflows(feature: u32) -> Result<()> {
    for (timing, compiler) in [
        ("adaptive", "-XX:+TieredCompilation"),
        ("exact", "-XX:TieredStopAtLevel=1"),
        ("count", "-Xint"),
        ("exact", "-XX:-TieredCompilation"),
        ("adaptive", "-Xint"),
        ("sampled", "-XX:+TieredCompilation"),
        ("sampled", "-XX:TieredStopAtLevel=1"),
        ("sampled", "-XX:-TieredCompilation"),
        ("sampled", "-Xint"),
    ] {
        let options = format!("timing={timing},exclude=Overflow$Doll");
        let program = Program::new(feature, "Overflow").options(&options);
        let run = program.jvm(&[compiler]).run()?;
        let printed = String::from_utf8_lossy(&run.output.stdout);
        run.printed(&printed, 0)?.sound(1)?;
        let counters: Vec<u64> = printed
            .split_whitespace()
            .map(|counter| counter.parse().context(printed.to_string()))
            .collect::<Result<_>>()?;
        let [
            dives,
            swings,
            swungs,
            tries,
            cleans,
            locks,
            both,
            guards,
            makes,
            leaves,
            held,
        ] = counters[..]
        else {
            anyhow::bail!("{}: {printed}", run.name);
        };
        let found = edges(&run.profile, "Overflow");
        // The program does not record which of its handlers called a leaf, so their sum is
        // compared.
        let at_the_end = |edge: &str| found.get(edge).copied().unwrap_or_default();
        let [t, c, b, g] = if timing == "sampled" {
            [at_the_end(&from_anywhere("leaf")), 0, 0, 0]
        } else {
            ["tries", "cleans", "both", "guards"]
                .map(|method| at_the_end(&format!("{method} > leaf")))
        };
        ensure!(held == 0, "{}: {held} locks are still held", run.name);
        ensure!(
            t + c + b + g == leaves,
            "{}: {leaves} calls of leaf expected: {found:#?}",
            run.name
        );
        run.calls(
            "Overflow",
            &format!(
                "- > main 1
                - > rounds 1
                rounds > overflow 80
                overflow > after 160
                overflow > dive {dives}
                overflow > swing {swings}
                swing > swung {swungs}
                overflow > tries {tries}
                tries > leaf {t}
                overflow > cleans {cleans}
                cleans > leaf {c}
                overflow > locks {locks}
                overflow > both {both}
                both > leaf {b}
                overflow > guards {guards}
                guards > leaf {g}
                overflow > Matryoshka.<init> {makes}"
            ),
        )?;
    }
    Ok(())
}
