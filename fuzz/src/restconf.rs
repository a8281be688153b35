//! For the RESTCONF targets: a schema with every kind of node, and the round-trip check.

use std::sync::OnceLock;

use allod_face_restconf::codec::{self, ChunkBuffer, DataWriter, Dialect, Encoding};
use allod_face_restconf::tree::{DataNode, NodeSource};
use allod_face_restconf::yang::Schema;
use allod_face_restconf::yang::embedded::PROTOCOL;

/// The id-manager and a module with every type.
pub fn schema() -> &'static Schema {
    static SCHEMA: OnceLock<Schema> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let mut modules = PROTOCOL.to_vec();
        modules.push((
            "id-manager.yang",
            include_str!("../../crates/face-restconf/yang/id-manager.yang"),
        ));
        modules.push(("every-type.yang", include_str!("every-type.yang")));
        Schema::compile(&modules).expect("the modules compile")
    })
}

/// Reads request bodies of every kind in one encoding. What is read must round-trip in both encodings and dialects.
pub fn bodies(encoding: Encoding, bytes: &[u8]) {
    let schema = schema();
    for operation in ["/id-manager:createIdPool", "/id-manager:allocateIdRange"] {
        if let Some(operation) = schema.find(operation) {
            let _ = codec::read_input(schema, operation, encoding, bytes);
        }
    }
    let below = schema.find("/every-type:everything");
    for parent in [None, below] {
        let Ok(nodes) = codec::read(schema, parent, encoding, bytes) else { continue };
        for (encoding, dialect) in [
            (Encoding::Json, Dialect::Draft02),
            (Encoding::Json, Dialect::Rfc8040),
            (Encoding::Xml, Dialect::Rfc8040),
        ] {
            if encoding == Encoding::Xml && nodes.len() != 1 {
                continue;
            }
            let text = write(schema, encoding, dialect, &nodes);
            let again = codec::read(schema, parent, encoding, &text);
            assert_eq!(again.as_ref(), Ok(&nodes), "{}", String::from_utf8_lossy(&text));
        }
    }
}

fn write(schema: &Schema, encoding: Encoding, dialect: Dialect, nodes: &[DataNode]) -> Vec<u8> {
    let mut writer = DataWriter::new(schema, encoding, dialect, ChunkBuffer::whole());
    for node in nodes {
        node.walk(&mut writer).expect("a buffer without callback never stops the walk");
    }
    writer.finish().expect("a buffer without callback never stops the walk")
}
