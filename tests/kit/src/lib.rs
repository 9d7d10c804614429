//! Tools that the tests and benchmarks of several crates share.
//!
//! The kit finds JDKs ([`jdk`]) and exports their classes ([`corpus`]), compiles and runs Java
//! programs ([`source`], [`process`]), lets JVMs verify, link and run class files ([`verify`],
//! [`link`], [`pairs`]), and opens pages in a browser ([`browser`], [`browser_session`]). It writes
//! heap dumps ([`dump`]), and walks over files of HPROF ([`hprof_walk`]). It simulates heaps
//! ([`collectors`]).
//!
//! The kit depends on no other crate of the workspace, so each crate can have it as a
//! dev-dependency without a cycle. Class files made for tests come from `loadhook-testclasses`.

pub mod browser;
pub mod browser_session;
pub mod collectors;
pub mod corpus;
pub mod dump;
pub mod hprof_walk;
pub mod java_tools;
pub mod jdk;
pub mod link;
pub mod pairs;
pub mod paths;
pub mod process;
mod signals;
pub mod source;
pub mod tomcat;
pub mod verify;
