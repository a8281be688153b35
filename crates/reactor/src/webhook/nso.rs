//! The request format for NSO: an action of the service, over RESTCONF.

use std::collections::BTreeMap;

use allod_core::outbox::Notification;
use percent_encoding::utf8_percent_encode;

use super::template::PLAIN;

/// The action if neither the notification nor the settings name one: re-deploys the service as its original user, and
/// does not wait for the result.
const ACTION_USUAL: &str = "reactive-re-deploy";
const ACTIONS: [&str; 3] = ["touch", "reactive-re-deploy", "re-deploy"];
/// The module of NSO's services, by the prefix that NSO's tools use in paths.
const MODULES_USUAL: [(&str, &str); 1] = [("ncs", "tailf-ncs")];

#[derive(Debug)]
pub(super) struct Nso {
    base: String,
    action: String,
    modules: BTreeMap<String, String>,
}

impl Nso {
    pub fn new(
        base: &str,
        action: Option<&str>,
        modules: &BTreeMap<String, String>,
    ) -> Result<Nso, String> {
        let action = action.unwrap_or(ACTION_USUAL);
        if !ACTIONS.contains(&action) {
            return Err(format!("'{action}' is not one of {}", ACTIONS.join(", ")));
        }
        let usual = MODULES_USUAL.map(|(prefix, module)| (prefix.to_owned(), module.to_owned()));
        let mut all = BTreeMap::from(usual);
        all.extend(modules.clone());
        let base = base.trim_end_matches('/').to_owned();
        Ok(Nso { base, action: action.to_owned(), modules: all })
    }

    pub fn url(&self, notification: &Notification) -> Result<String, String> {
        let named = ACTIONS.into_iter().find(|action| *action == notification.payload.0);
        let action = named.unwrap_or(&self.action);
        let path = path(&notification.target, &self.modules)?;
        Ok(format!("{}/restconf/data{path}/{action}", self.base))
    }
}

/// Converts an instance-identifier, or a path as NSO's tools write it, to a resource path of RFC 8040. The keys of a list
/// keep their order, because the model that defines it is not known here.
fn path(target: &str, modules: &BTreeMap<String, String>) -> Result<String, String> {
    let wrong = || format!("'{target}' is not a path of a service");
    let mut path = String::new();
    let mut rest = target;
    while !rest.is_empty() {
        rest = rest.strip_prefix('/').ok_or_else(wrong)?;
        let end = rest.find(['/', '[', '{']).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        if name.is_empty() || !name.bytes().all(is_of_name) {
            return Err(wrong());
        }
        let name = match name.split_once(':') {
            Some((prefix, node)) => {
                format!("{}:{node}", modules.get(prefix).map_or(prefix, String::as_str))
            }
            None => name.to_owned(),
        };
        let (keys, after) = match after.as_bytes().first() {
            Some(b'[') => predicates(after).ok_or_else(wrong)?,
            Some(b'{') => braces(&after[1..]).ok_or_else(wrong)?,
            _ => (Vec::new(), after),
        };
        path.push('/');
        path.push_str(&name);
        for (n, key) in keys.iter().enumerate() {
            path.push(if n == 0 { '=' } else { ',' });
            path.extend(utf8_percent_encode(key, PLAIN));
        }
        rest = after;
    }
    if path.is_empty() { Err(wrong()) } else { Ok(path) }
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':')
}

/// Parses `[name='a'][unit='b']`; returns the keys and the rest.
fn predicates(mut text: &str) -> Option<(Vec<String>, &str)> {
    let mut keys = Vec::new();
    while let Some(inside) = text.strip_prefix('[') {
        let (name, value) = inside.split_once('=')?;
        if name.contains(']') {
            return None;
        }
        let value = value.trim_start();
        let quote = value.chars().next().filter(|quote| ['\'', '"'].contains(quote))?;
        let (key, after) = value[1..].split_once(quote)?;
        keys.push(key.to_owned());
        text = after.trim_start().strip_prefix(']')?;
    }
    Some((keys, text))
}

/// Parses `a "b c"}`; returns the keys and the rest.
fn braces(text: &str) -> Option<(Vec<String>, &str)> {
    let mut keys = Vec::new();
    let mut rest = text.trim_start();
    loop {
        if let Some(after) = rest.strip_prefix('}') {
            return (!keys.is_empty()).then_some((keys, after));
        }
        let (key, after) = if let Some(inside) = rest.strip_prefix('"') {
            quoted(inside)?
        } else {
            let end = rest.find([' ', '}'])?;
            (rest[..end].to_owned(), &rest[end..])
        };
        keys.push(key);
        rest = after.trim_start();
    }
}

/// Parses up to the closing quote; a backslash escapes the next character. Returns the text and the rest.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut key = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((key, &text[at + 1..])),
            '\\' => key.push(chars.next()?.1),
            c => key.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use allod_core::outbox::Payload;

    use super::*;
    use crate::webhook::sample;

    #[test]
    fn target_is_converted_to_a_resource_path() {
        let modules = BTreeMap::from([("ncs".to_owned(), "tailf-ncs".to_owned())]);
        for (target, wanted) in [
            ("/ncs:services", "/tailf-ncs:services"),
            ("/ncs:services/ip-vl:ip-loop{a}", "/tailf-ncs:services/ip-vl:ip-loop=a"),
            ("/vpn:vpn[name='a/b']/site", "/vpn:vpn=a%2Fb/site"),
            ("/vpn:vpn[vpn:name=\"it's\"][unit = '2']", "/vpn:vpn=it%27s,2"),
            ("/v:l[.='a]b']", "/v:l=a%5Db"),
            ("/v:l{a \"b c\\\"\" d}/x", "/v:l=a,b%20c%22,d/x"),
            ("/v:l[name='']", "/v:l="),
            ("/v:l[name='é,=']", "/v:l=%C3%A9%2C%3D"),
        ] {
            assert_eq!(path(target, &modules).as_deref(), Ok(wanted), "{target}");
        }
        for target in [
            "",
            "/",
            "vpn",
            "/vpn/",
            "//vpn",
            "/v[3]",
            "/v[a]",
            "/v[a='b'",
            "/v[a='b]",
            "/v{",
            "/v{}",
            "/v{a",
            "/v{\"a}",
            "/v[a='b']c",
            "/a b",
            "/a?b",
            "/../b#",
            "/v%2f",
        ] {
            assert!(path(target, &modules).is_err(), "{target}");
        }
    }

    #[test]
    fn action_of_the_notification_has_precedence() {
        let nso = Nso::new("http://nso/", None, &BTreeMap::new()).unwrap();
        for (payload, action) in [
            ("default", "reactive-re-deploy"),
            ("touch", "touch"),
            ("reactive-re-deploy", "reactive-re-deploy"),
            ("re-deploy", "re-deploy"),
        ] {
            let payload = Payload(payload);
            let url =
                nso.url(&Notification { payload, target: "/a:b".into(), ..sample() }).unwrap();
            assert_eq!(url, format!("http://nso/restconf/data/a:b/{action}"));
        }
        assert!(Nso::new("http://nso/", Some("delete"), &BTreeMap::new()).is_err());
    }
}
