//! Golden files live beside this crate; see README.md. The tests are in `tests/`.
