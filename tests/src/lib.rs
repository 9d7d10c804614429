//! What the tests of Loadhook share: finding JDKs, their classes, judging classes, assembling odd ones.
pub mod corpus;
pub mod helpers;
pub mod jdk;
pub mod link;
pub mod pairs;
mod pairs_outcome;
mod pairs_process;
pub mod paths;
pub mod source;
pub mod verify;
