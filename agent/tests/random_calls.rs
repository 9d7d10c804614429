//! A program that counts its own calls by caller and callee, compared with its profile.

use anyhow::{Result, ensure};

mod support;
use support::{Program, TIMINGS, counted, edges};

on_each_jdk!(random_calls);

fn random_calls(feature: u32) -> Result<()> {
    for (seed, timing) in TIMINGS.iter().enumerate() {
        let seed = (10 * feature + seed as u32).to_string();
        let run = Program::new(feature, "RandomCalls")
            .options(&format!("timing={timing},include=RandomCalls$Methods*"))
            .args(&[&seed, "4", "20000"])
            .run()?;
        let printed = String::from_utf8_lossy(&run.output.stdout);
        run.printed(&printed, 0)?.sound(4)?;
        let counted = counted(&printed)?;
        ensure!(counted.len() > 150, "{}: {printed}", run.name);
        run.same_calls(&counted, &edges(&run.profile, "RandomCalls"))?;
    }
    Ok(())
}
