//! Library of the end-to-end, whole-JDK and differential tests of Loadhook: the code that several
//! of them share.

pub mod judge;
