//! The search for candidates: what it finds, in which order, and how much work it is.
//!
//! Tables of clouds and requests, one file for each area, all through [`check::check`]; and a naive search that is compared
//! on random clouds. What a provider may have at all is tested elsewhere.

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
