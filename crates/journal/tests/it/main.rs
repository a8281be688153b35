//! Integration tests of this crate, in one binary so that they link once.

mod checkpoint;
mod embedded;
mod embedded_damage;
mod embedded_loss;
mod memory;
mod postgres;
mod power_loss;
mod restoring;
