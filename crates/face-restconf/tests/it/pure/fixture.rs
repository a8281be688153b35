//! A small schema with one node of every kind, and shortcuts to use it.

use std::sync::LazyLock;

use allod_face_restconf::codec::{self, ChunkBuffer, DataWriter, Dialect, Encoding};
use allod_face_restconf::error::RestconfError;
use allod_face_restconf::model::InstancePath;
use allod_face_restconf::path;
use allod_face_restconf::tree::{DataNode, NodeSource};
use allod_face_restconf::yang::{NodeId, Schema, embedded};

pub static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    let mut files = embedded::PROTOCOL.to_vec();
    files.push(("toy.yang", include_str!("toy.yang")));
    files.push(("more.yang", include_str!("more.yang")));
    Schema::compile(&files).unwrap()
});

pub fn id(path: &str) -> NodeId {
    SCHEMA.find(path).unwrap_or_else(|| panic!("{path}"))
}

pub fn json(text: &str) -> Result<Vec<DataNode>, RestconfError> {
    codec::read(&SCHEMA, None, Encoding::Json, text.as_bytes())
}

pub fn xml(text: &str) -> Result<Vec<DataNode>, RestconfError> {
    codec::read(&SCHEMA, None, Encoding::Xml, text.as_bytes())
}

/// The single node of a document.
pub fn tree(text: &str) -> DataNode {
    json(text).unwrap().pop().unwrap()
}

pub fn written(source: &dyn NodeSource, encoding: Encoding, dialect: Dialect) -> String {
    let mut writer = DataWriter::new(&SCHEMA, encoding, dialect, ChunkBuffer::whole());
    source.walk(&mut writer).unwrap();
    String::from_utf8(writer.finish().unwrap()).unwrap()
}

/// As RFC 7951 JSON.
pub fn shown(source: &dyn NodeSource) -> String {
    written(source, Encoding::Json, Dialect::Rfc8040)
}

pub fn target(path: &str) -> InstancePath {
    path::parse(&SCHEMA, Dialect::Rfc8040, path).unwrap()
}
