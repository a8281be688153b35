//! Integration tests of this crate, in one binary so that they link once.

mod search;
mod spanset;
mod values;
