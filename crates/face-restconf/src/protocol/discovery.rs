//! Discovery: host-meta, the API resource, the list of operations, and the YANG modules.
//!
//! Not here: the YANG library and `restconf-state`, which are data; see `builtin`.

use std::fmt::Write;

use allod_edge::Reply;
use bytes::Bytes;
use http::StatusCode;
use quick_xml::escape::escape;
use serde_json::{Map, Value, json};

use super::endpoint::RESTCONF;
use super::request::RestconfRequest;
use super::{Restconf, library, send};
use crate::codec::{Dialect, Element, Encoding, RESTCONF_NAMESPACE as NAMESPACE};
use crate::error::{ErrorTag, RestconfError, Result, invalid_value};
use crate::yang::{Module, Schema};

/// The revision of ietf-yang-library that is served.
const LIBRARY_VERSION: &str = "2019-01-04";

/// Some clients search the link with a regular expression: its quotes, its order and its line must stay.
pub(super) fn host_meta() -> Reply {
    let text = format!(
        "<?xml version='1.0' encoding='UTF-8'?>\n<XRD xmlns='http://docs.oasis-open.org/ns/xri/xrd-1.0'>\n  <Link rel='restconf' href='{RESTCONF}'/>\n</XRD>\n"
    );
    send::typed(Bytes::from(text), "application/xrd+xml")
}

/// The API resource.
pub(super) fn api(request: &RestconfRequest) -> Result<Reply> {
    let version = ("yang-library-version", Element::text(LIBRARY_VERSION));
    let empty = || Element::Inner(vec![]);
    let parts = Element::Inner(vec![("data", empty()), ("operations", empty()), version]);
    document(request, "ietf-restconf:restconf", &parts)
}

pub(super) fn library_version(request: &RestconfRequest) -> Result<Reply> {
    let version = Element::text(LIBRARY_VERSION);
    document(request, "ietf-restconf:yang-library-version", &version)
}

fn document(request: &RestconfRequest, name: &str, element: &Element<'_>) -> Result<Reply> {
    let media = request.reply_media()?;
    Ok(send::typed(Bytes::from(element.document(media.encoding, name, NAMESPACE)), media.name))
}

/// The list of RPCs.
pub(super) fn operations(face: &Restconf, request: &RestconfRequest) -> Result<Reply> {
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
    let top = match request.endpoint.dialect {
        Dialect::Rfc8040 => "ietf-restconf:operations",
        Dialect::Draft02 => "operations",
    };
    encoded(request, &json!({ top: members }), xml)
}

/// The list of modules in draft-02. `module/<name>/<revision>` selects one.
pub(super) fn modules(face: &Restconf, request: &RestconfRequest) -> Result<Reply> {
    let schema = &*face.schema;
    let rest = request.rest().trim_end_matches('/');
    let wanted: Vec<&str> = rest.split('/').collect();
    let picks = |module: &Module| match wanted[..] {
        [""] => true,
        ["module", name, revision] => module.name == name && module.revision == revision,
        _ => false,
    };
    let picked: Vec<&Module> =
        schema.modules().map(|(_, module)| module).filter(|module| picks(module)).collect();
    if picked.is_empty() {
        let message = format!("no module at {rest}; use module/<name>/<revision>");
        return Err(RestconfError::protocol(ErrorTag::DataMissing, message));
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
        return encoded(request, &json!({ "modules": { "module": list } }), xml);
    }
    let xml = elements.replacen("<module>", &format!("<module xmlns=\"{NAMESPACE}\">"), 1);
    encoded(request, &json!({ "module": list }), xml)
}

/// The text of a module: `yang/<name>@<revision>.yang`.
pub(super) fn text(schema: &Schema, file: &str) -> Result<Reply> {
    let found = schema.modules().find(|(_, module)| library::file_name(module) == file);
    match found {
        Some((_, module)) => Ok(send::typed(Bytes::from(module.text.clone()), "application/yang")),
        None => {
            Err(invalid_value(format!("no module in {file}; the YANG library lists the modules"))
                .with_status(StatusCode::NOT_FOUND))
        }
    }
}

fn encoded(request: &RestconfRequest, json: &Value, xml: String) -> Result<Reply> {
    let media = request.reply_media()?;
    let body = match media.encoding {
        Encoding::Json => json.to_string(),
        Encoding::Xml => xml,
    };
    Ok(send::typed(Bytes::from(body), media.name))
}
