//! Rewrites Java class files.
#![forbid(unsafe_code)]
