//! What the targets share: a schema with something of everything, and the promise that what was read can be written and read
//! again.

use std::sync::OnceLock;

use allod_face_restconf::codec::{self, Chunks, Dialect, Format, Writer};
use allod_face_restconf::tree::{Node, Source};
use allod_face_restconf::yang::Schema;
use allod_face_restconf::yang::embedded::PROTOCOL;

/// Of the id-manager and of a module that exists for this only.
pub fn schema() -> &'static Schema {
    static SCHEMA: OnceLock<Schema> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let mut modules = PROTOCOL.to_vec();
        modules.push(("id-manager.yang", include_str!("../../yang/id-manager.yang")));
        modules.push(("every-type.yang", include_str!("every-type.yang")));
        Schema::compile(&modules).expect("the modules are right")
    })
}

/// Bodies of requests of every sort in one format. What can be read can be written in both formats and dialects, and is the
/// same when it is read again.
pub fn bodies(format: Format, bytes: &[u8]) {
    let schema = schema();
    for operation in ["/id-manager:createIdPool", "/id-manager:allocateIdRange"] {
        if let Some(operation) = schema.find(operation) {
            let _ = codec::read_input(schema, operation, format, bytes);
        }
    }
    let below = schema.find("/every-type:everything");
    for parent in [None, below] {
        let Ok(nodes) = codec::read(schema, parent, format, bytes) else { continue };
        for (format, dialect) in [
            (Format::Json, Dialect::Draft02),
            (Format::Json, Dialect::Rfc8040),
            (Format::Xml, Dialect::Rfc8040),
        ] {
            if format == Format::Xml && nodes.len() != 1 {
                continue;
            }
            let text = write(schema, format, dialect, &nodes);
            let again = codec::read(schema, parent, format, &text);
            assert_eq!(again.as_ref(), Ok(&nodes), "{}", String::from_utf8_lossy(&text));
        }
    }
}

fn write(schema: &Schema, format: Format, dialect: Dialect, nodes: &[Node]) -> Vec<u8> {
    let mut writer = Writer::new(schema, format, dialect, Chunks::whole());
    for node in nodes {
        node.walk(&mut writer).expect("nobody stops it");
    }
    writer.finish().expect("nobody stops it")
}
