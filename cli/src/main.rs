//! The `loadhook` command line.
fn main() {}
