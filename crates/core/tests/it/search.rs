//! Candidate search: which candidates it finds, in which order, and how many steps it takes.
//!
//! The tests are tables of clouds and requests, a file for each area, checked by [`check::check`]. A naive search is
//! compared on random clouds.

mod check;
mod cloud;
mod query;

mod explain;
mod fair;
mod groups;
mod naive;
mod nested;
mod providers;
mod random;
mod sharing;
mod single;
mod work;
