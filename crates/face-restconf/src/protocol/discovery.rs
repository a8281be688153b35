//! How a client finds its way in: host-meta, the API resource, the list of operations, and the texts of the modules.
//!
//! Not here: what is data itself, the YANG library and the state of RESTCONF; that is `builtin`.

use std::fmt::Write;

use allod_edge::Reply;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use quick_xml::escape::escape;
use serde_json::{Map, Value, json};

use super::ask::Ask;
use super::media;
use super::space::RESTCONF;
use super::{Restconf, library};
use crate::codec::{Dialect, Format, RESTCONF_NAMESPACE as NAMESPACE};
use crate::fault::{Fault, Tag};
use crate::yang::{Module, Schema};

/// The revision of ietf-yang-library that is served.
const LIBRARY_VERSION: &str = "2019-01-04";

/// Clients look for the link with patterns: its quotes, its order and its line are as they expect them.
pub(super) fn host_meta() -> Reply {
    let text = format!(
        "<?xml version='1.0' encoding='UTF-8'?>\n<XRD xmlns='http://docs.oasis-open.org/ns/xri/xrd-1.0'>\n  <Link rel='restconf' href='{RESTCONF}'/>\n</XRD>\n"
    );
    reply(text, "application/xrd+xml")
}

/// The root.
pub(super) fn api(ask: &Ask) -> Result<Reply, Fault> {
    let parts = json!({ "data": {}, "operations": {}, "yang-library-version": LIBRARY_VERSION });
    let json = json!({ "ietf-restconf:restconf": parts });
    let version = format!("<yang-library-version>{LIBRARY_VERSION}</yang-library-version>");
    let xml = format!("<restconf xmlns=\"{NAMESPACE}\"><data/><operations/>{version}</restconf>");
    shown(ask, &json, xml)
}

pub(super) fn library_version(ask: &Ask) -> Result<Reply, Fault> {
    let json = json!({ "ietf-restconf:yang-library-version": LIBRARY_VERSION });
    let name = "yang-library-version";
    shown(ask, &json, format!("<{name} xmlns=\"{NAMESPACE}\">{LIBRARY_VERSION}</{name}>"))
}

/// What can be called.
pub(super) fn operations(face: &Restconf, ask: &Ask) -> Result<Reply, Fault> {
    let schema = &*face.schema;
    let mut members = Map::new();
    let mut xml = format!("<operations xmlns=\"{NAMESPACE}\">");
    for rpc in schema.rpcs() {
        let node = schema.node(rpc);
        members.insert(schema.full_name(rpc).to_owned(), json!([null]));
        let namespace = escape(&*schema.module(node.module).namespace);
        // Writing to a string cannot fail.
        let _ = write!(xml, "<{} xmlns=\"{namespace}\"/>", node.name);
    }
    xml.push_str("</operations>");
    let top = match ask.space.dialect {
        Dialect::Rfc8040 => "ietf-restconf:operations",
        Dialect::Draft02 => "operations",
    };
    shown(ask, &json!({ top: members }), xml)
}

/// The list of modules as the draft has it. With `module/<name>/<revision>` behind it, the one.
pub(super) fn modules(face: &Restconf, ask: &Ask) -> Result<Reply, Fault> {
    let schema = &*face.schema;
    let rest = ask.rest().trim_end_matches('/');
    let wanted: Vec<&str> = rest.split('/').collect();
    let picks = |module: &Module| match wanted[..] {
        [""] => true,
        ["module", name, revision] => module.name == name && module.revision == revision,
        _ => false,
    };
    let picked: Vec<&Module> =
        schema.modules().map(|(_, module)| module).filter(|module| picks(module)).collect();
    if picked.is_empty() {
        let message = format!("there is no module at {rest}; module/<name>/<revision> names one");
        return Err(Fault::protocol(Tag::DataMissing, message));
    }
    let of = |module: &&Module| json!({ "name": module.name, "revision": module.revision, "namespace": module.namespace });
    let list: Vec<Value> = picked.iter().map(of).collect();
    let mut elements = String::new();
    for module in &picked {
        let _ = write!(
            elements,
            "<module><name>{}</name><revision>{}</revision><namespace>{}</namespace></module>",
            module.name,
            module.revision,
            escape(&*module.namespace)
        );
    }
    if rest.is_empty() {
        let xml = format!("<modules xmlns=\"{NAMESPACE}\">{elements}</modules>");
        return shown(ask, &json!({ "modules": { "module": list } }), xml);
    }
    let xml = elements.replacen("<module>", &format!("<module xmlns=\"{NAMESPACE}\">"), 1);
    shown(ask, &json!({ "module": list }), xml)
}

/// The text of a module: `yang/<name>@<revision>.yang`.
pub(super) fn text(schema: &Schema, file: &str) -> Result<Reply, Fault> {
    let found = schema.modules().find(|(_, module)| library::file_name(module) == file);
    match found {
        Some((_, module)) => Ok(reply(module.text.clone(), "application/yang")),
        None => Err(Fault::protocol(
            Tag::InvalidValue,
            format!("there is no module in {file}; the YANG library says which there are"),
        )
        .with_status(StatusCode::NOT_FOUND)),
    }
}

fn shown(ask: &Ask, json: &Value, xml: String) -> Result<Reply, Fault> {
    let media = media::of_reply(ask.headers(), ask.space.dialect)?;
    let body = match media.format {
        Format::Json => json.to_string(),
        Format::Xml => xml,
    };
    Ok(reply(body, media.name))
}

fn reply(body: String, kind: &'static str) -> Reply {
    let mut reply = Reply::new(Bytes::from(body).into());
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    reply
}
