//! Events in the form of server-sent events.

use bytes::Bytes;

use crate::codec::{Chunks, Dialect, Format, Writer};
use crate::protocol::time;
use crate::tree::{Node, Source, Stopped};
use crate::yang::Schema;

/// The namespace of what is around a notification, which is NETCONF's.
const NAMESPACE: &str = "urn:ietf:params:xml:ns:netconf:notification:1.0";

/// One notification, from its data to the empty line behind it.
pub(super) fn event(schema: &Schema, format: Format, at_ms: u64, notification: &Node) -> Bytes {
    // A writer that nobody takes chunks from has nobody to stop it.
    let text = payload(schema, format, &time::show(at_ms), notification).unwrap_or_default();
    let mut out = Vec::with_capacity(text.len() + 16);
    // Text in XML may have line breaks, which would end the event.
    for line in text.split(|byte| *byte == b'\n') {
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(line);
        out.push(b'\n');
    }
    out.push(b'\n');
    out.into()
}

/// Before an event: from where to go on when this is the last that was seen.
pub(super) fn id(position: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("id: {position}\n").as_bytes());
}

fn payload(
    schema: &Schema,
    format: Format,
    time: &str,
    notification: &Node,
) -> Result<Vec<u8>, Stopped> {
    let mut writer = Writer::new(schema, format, Dialect::Rfc8040, Chunks::whole());
    match format {
        Format::Json => {
            writer.open_wrapper("notification")?;
            writer.wrapper_leaf("eventTime", time)?;
            notification.walk(&mut writer)?;
            writer.close_wrapper()?;
            writer.finish()
        }
        Format::Xml => {
            notification.walk(&mut writer)?;
            let head = format!("<notification xmlns=\"{NAMESPACE}\"><eventTime>{time}</eventTime>");
            let inner = writer.finish()?;
            Ok([head.as_bytes(), &inner, b"</notification>"].concat())
        }
    }
}

/// What is not an event.
pub(super) fn comment(text: &str) -> Bytes {
    let text = text.replace(['\n', '\r'], " ");
    format!(": {text}\n\n").into()
}
