//! What the tests of Loadhook share: finding JDKs, their classes, judging classes, assembling odd ones.
