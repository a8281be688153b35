//! The headers with which a read requests a consistency: `Allod-Min-Position` and `Allod-Consistency`.
//!
//! All faces read them here, so that all accept and reject the same values. Not here: the waiting, which is the engine's.

use http::HeaderName;

use crate::{Call, Problem};

const MIN_POSITION: HeaderName = HeaderName::from_static("allod-min-position");
const CONSISTENCY: HeaderName = HeaderName::from_static("allod-consistency");

/// What a read must reflect.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Consistency {
    /// Everything that any server acknowledged before the request.
    pub linearizable: bool,
    /// This position of the journal or a later one.
    pub min_position: Option<u64>,
}

impl Consistency {
    pub fn of(call: &Call) -> Result<Consistency, Problem> {
        let linearizable = match call.header(&CONSISTENCY)? {
            None => false,
            Some("linearizable") => true,
            Some(other) => {
                return Err(Problem::malformed(format!(
                    "allod-consistency is '{other}'; the only value is linearizable"
                )));
            }
        };
        let min_position = call.header(&MIN_POSITION)?;
        let min_position = min_position.map(|text| position("allod-min-position", text));
        Ok(Consistency { linearizable, min_position: min_position.transpose()? })
    }
}

/// Reads a position of the journal; `name` is the header or parameter for the error.
pub fn position(name: &str, text: &str) -> Result<u64, Problem> {
    let wrong = |_| Problem::malformed(format!("{name} is '{text}'; expected a number"));
    text.parse().map_err(wrong)
}
