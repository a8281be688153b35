//! The text of server-sent events.

use bytes::Bytes;

use crate::codec::{ChunkBuffer, DataWriter, Dialect, Encoding};
use crate::protocol::time;
use crate::tree::{DataNode, NodeSource, Walk};
use crate::yang::Schema;

/// The namespace of the element around a notification, from NETCONF.
const NAMESPACE: &str = "urn:ietf:params:xml:ns:netconf:notification:1.0";

/// The data lines of one notification, and the empty line after them.
pub(super) fn event(
    schema: &Schema,
    encoding: Encoding,
    at_ms: u64,
    notification: &DataNode,
) -> Bytes {
    // A buffer without callback never stops the writer.
    let text = payload(schema, encoding, &time::show(at_ms), notification).unwrap_or_default();
    let mut out = Vec::with_capacity(text.len() + 16);
    // A line break in the text would end the event.
    for line in text.split(|byte| *byte == b'\n') {
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(line);
        out.push(b'\n');
    }
    out.push(b'\n');
    out.into()
}

/// The id line before an event: the position to resume from.
pub(super) fn id(position: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("id: {position}\n").as_bytes());
}

fn payload(
    schema: &Schema,
    encoding: Encoding,
    time: &str,
    notification: &DataNode,
) -> Walk<Vec<u8>> {
    let mut writer = DataWriter::new(schema, encoding, Dialect::Rfc8040, ChunkBuffer::whole());
    match encoding {
        Encoding::Json => {
            writer.open_wrapper("notification")?;
            writer.wrapper_leaf("eventTime", time)?;
            notification.walk(&mut writer)?;
            writer.close_wrapper()?;
            writer.finish()
        }
        Encoding::Xml => {
            notification.walk(&mut writer)?;
            let head = format!("<notification xmlns=\"{NAMESPACE}\"><eventTime>{time}</eventTime>");
            let inner = writer.finish()?;
            Ok([head.as_bytes(), &inner, b"</notification>"].concat())
        }
    }
}

/// A comment line.
pub(super) fn comment(text: &str) -> Bytes {
    let text = text.replace(['\n', '\r'], " ");
    format!(": {text}\n\n").into()
}
