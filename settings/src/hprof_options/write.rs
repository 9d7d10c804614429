//! Writes HPROF's options.

use std::fmt::{self, Display, Formatter};

use super::{HprofCpu, HprofOptions, default_file};

impl Display for HprofOptions {
    /// Writes the options that differ from their defaults.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let usual = HprofOptions {
            file: default_file(self.binary),
            ..HprofOptions::default()
        };
        let yes = |is: bool| if is { "y" } else { "n" }.to_owned();
        let mut items: Vec<(&str, String)> = Vec::new();
        match self.cpu {
            Some(HprofCpu::Samples) => items.push(("cpu", "samples".to_owned())),
            Some(HprofCpu::Times) => items.push(("cpu", "times".to_owned())),
            Some(HprofCpu::Old) => items.push(("cpu", "old".to_owned())),
            None => {}
        }
        match (self.sites, self.dump) {
            (true, true) => items.push(("heap", "all".to_owned())),
            (true, false) => items.push(("heap", "sites".to_owned())),
            (false, true) => items.push(("heap", "dump".to_owned())),
            (false, false) => {}
        }
        if self.monitors {
            items.push(("monitor", "y".to_owned()));
        }
        if let Some(address) = &self.net {
            items.push(("net", address.clone()));
        } else if self.binary {
            items.push(("format", "b".to_owned()));
        }
        if self.file != usual.file {
            items.push(("file", self.file.clone()));
        }
        if self.depth != usual.depth {
            items.push(("depth", self.depth.to_string()));
        }
        if self.interval != usual.interval {
            items.push(("interval", self.interval.to_string()));
        }
        if self.cutoff != usual.cutoff {
            items.push(("cutoff", self.cutoff.share().to_string()));
        }
        for (key, is, usual) in [
            ("lineno", self.lineno, usual.lineno),
            ("thread", self.thread, usual.thread),
            ("force", self.force, usual.force),
            ("verbose", self.verbose, usual.verbose),
            ("doe", self.at_exit, usual.at_exit),
        ] {
            if is != usual {
                items.push((key, yes(is)));
            }
        }
        for key in &self.without_effect {
            items.push((key, yes(true)));
        }
        for (at, (key, value)) in items.iter().enumerate() {
            let separator = if at > 0 { "," } else { "" };
            write!(f, "{separator}{key}={value}")?;
        }
        Ok(())
    }
}
