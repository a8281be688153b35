//! A small schema with one of everything, and short ways to use it.

use std::sync::LazyLock;

use allod_face_restconf::codec::{self, Chunks, Dialect, Format, Writer};
use allod_face_restconf::fault::Fault;
use allod_face_restconf::model::Target;
use allod_face_restconf::path;
use allod_face_restconf::tree::{Node, Source};
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

pub fn json(text: &str) -> Result<Vec<Node>, Fault> {
    codec::read(&SCHEMA, None, Format::Json, text.as_bytes())
}

pub fn xml(text: &str) -> Result<Vec<Node>, Fault> {
    codec::read(&SCHEMA, None, Format::Xml, text.as_bytes())
}

/// The one node of a document.
pub fn tree(text: &str) -> Node {
    json(text).unwrap().pop().unwrap()
}

pub fn written(source: &dyn Source, format: Format, dialect: Dialect) -> String {
    let mut writer = Writer::new(&SCHEMA, format, dialect, Chunks::whole());
    source.walk(&mut writer).unwrap();
    String::from_utf8(writer.finish().unwrap()).unwrap()
}

/// As RFC 7951 has it.
pub fn shown(source: &dyn Source) -> String {
    written(source, Format::Json, Dialect::Rfc8040)
}

pub fn target(path: &str) -> Target {
    path::parse(&SCHEMA, Dialect::Rfc8040, path).unwrap()
}
