//! What the tests of Loadhook share: finding JDKs, their classes, judging classes, assembling odd ones.
pub mod assembler;
pub mod browser;
pub mod corpus;
pub mod helpers;
pub mod jdk;
pub mod limits;
pub mod link;
pub mod mutate;
pub mod pairs;
mod pairs_outcome;
mod pairs_process;
pub mod paths;
pub mod rewritten;
pub mod shapes;
mod signals;
pub mod source;
pub mod tomcat;
pub mod verify;
