//! Shared by the fuzz targets.
//!
//! - `restconf`: bodies and paths of RESTCONF
//! - `server`: requests to a face, with an engine behind it
//! - `stored`: records, checkpoints and segments with valid hashes around arbitrary contents

pub mod restconf;
pub mod server;
pub mod stored;
