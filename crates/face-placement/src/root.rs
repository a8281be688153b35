//! `GET /`: which versions there are.

use crate::Placement;
use crate::ask::Ask;
use crate::fault::Fault;
use crate::out::Out;
use crate::to_wire::Shown;
use crate::versions::Version;

pub(crate) fn get(face: &Placement, _: &Ask) -> Result<Shown, Fault> {
    // The document says nothing about the journal, so it is there while that is being replayed, too.
    let status = face.handle.status();
    let (min, max) = (Version::MIN, Version::MAX);
    let mut out = Out::default();
    out.raw(&format!(
        "{{\"versions\":[{{\"id\":\"v{min}\",\"max_version\":\"{max}\",\"min_version\":\"{min}\",\"status\":\"CURRENT\",\"links\":[{{\"rel\":\"self\",\"href\":\"\"}}]}}]}}"
    ));
    Ok(Shown::json(status.at, out).modified(status.now_ms))
}
