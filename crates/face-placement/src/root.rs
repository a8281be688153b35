//! `GET /`: which versions there are.

use crate::Placement;
use crate::ask::Ask;
use crate::fault::Fault;
use crate::out::Out;
use crate::to_wire::Shown;
use crate::versions::Version;

pub(crate) fn get(face: &Placement, _: &Ask) -> Result<Shown, Fault> {
    // The document says nothing about the journal. But it is what people ask for to see whether the service is there, so it
    // is there when the others are.
    let (at, now_ms) = face.read(|_, snapshot| Ok((snapshot.at, snapshot.now_ms)))?;
    let (min, max) = (Version::MIN, Version::MAX);
    let mut out = Out::default();
    out.raw(&format!(
        "{{\"versions\":[{{\"id\":\"v{min}\",\"max_version\":\"{max}\",\"min_version\":\"{min}\",\"status\":\"CURRENT\",\"links\":[{{\"rel\":\"self\",\"href\":\"\"}}]}}]}}"
    ));
    Ok(Shown::json(at, out).modified(now_ms))
}
