//! The JVM TI agent: instruments classes as they are loaded, and writes the
//! profile when the VM ends.
//!
//! `sys` is the VM's binary interface, `ffi` the only code that touches it;
//! all else is safe. Nothing here may stop or change the program that runs:
//! an error leaves a class as it was and is told once.

mod agent;
mod alloc;
mod below;
mod copies;
mod events;
mod exit;
pub mod ffi;
mod file;
mod heap;
mod hidden;
mod hook;
mod kinds;
mod loaders;
mod manifest;
mod mortal;
mod options;
mod pattern;
mod periodic;
mod registry;
mod retransform;
mod sizes;
pub mod sys;
mod tell;
mod ticker;
mod tracker;
mod walk;
