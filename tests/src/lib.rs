//! End-to-end, whole-JDK and differential tests of Loadhook. This library holds what several of them share.

pub mod judge;
