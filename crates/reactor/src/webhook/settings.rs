//! A webhook as an operator writes it, and what is meant by that.

use std::collections::BTreeMap;
use std::path::PathBuf;

use http::header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, TRANSFER_ENCODING};
use http::{HeaderName, HeaderValue, Method};
use serde::Deserialize;

use super::credentials::Credentials;
use super::endpoint::Endpoint;
use super::nso::Nso;
use super::pattern::Pattern;
use super::template::{Escape, Template};
use super::{Shape, Webhook};

/// One `[[webhook]]` of `allod.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhookSettings {
    /// Which targets it is for: a path with all that is below it, or a pattern with `*` for anything. Without it: all.
    #[serde(default, rename = "match")]
    pub matches: String,
    #[serde(default)]
    pub shape: ShapeName,
    /// Where to. Of the plain shape a template, of NSO's the address of the server.
    pub url: String,
    #[serde(default)]
    pub method: Option<String>,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// A template. Without it: everything that the notice says, as JSON.
    #[serde(default)]
    pub body: Option<String>,
    /// A file with `user:password` on each line.
    #[serde(default)]
    pub credentials: Option<PathBuf>,
    /// The certificates that vouch for the server, instead of those that this machine trusts.
    #[serde(default)]
    pub ca: Option<PathBuf>,
    /// Of NSO's shape: the action where the request does not name one.
    #[serde(default)]
    pub action: Option<String>,
    /// Of NSO's shape: the names of modules whose prefixes stand in targets.
    #[serde(default)]
    pub modules: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ShapeName {
    #[default]
    Plain,
    Nso,
}

impl WebhookSettings {
    pub(super) fn webhook(&self) -> Result<Webhook, String> {
        let method = match &self.method {
            None => Method::POST,
            Some(text) => Method::from_bytes(text.as_bytes())
                .map_err(|_| format!("'{text}' is no method of HTTP"))?,
        };
        let headers: Vec<_> = self.headers.iter().map(header).collect::<Result<_, _>>()?;
        let credentials = self.credentials.clone().map(Credentials::new);
        let endpoint = Endpoint::new(&self.url, self.ca.as_deref())?;
        let matches = Pattern::new(&self.matches);
        let shape = self.shape()?;
        Ok(Webhook { matches, endpoint, shape, method, headers, credentials })
    }

    fn shape(&self) -> Result<Shape, String> {
        match self.shape {
            ShapeName::Plain if self.action.is_some() || !self.modules.is_empty() => {
                Err("only the shape nso has an action and modules".into())
            }
            ShapeName::Plain => {
                let url = Template::new(&self.url)?;
                let body = self.body.as_deref().map(Template::new).transpose()?;
                Ok(Shape::Plain { url, body, escape: self.escape() })
            }
            ShapeName::Nso if self.body.is_some() || self.method.is_some() => {
                Err("the shape nso has a method and a body of its own".into())
            }
            ShapeName::Nso => {
                Ok(Shape::Nso(Nso::new(&self.url, self.action.as_deref(), &self.modules)?))
            }
        }
    }

    /// How what a notice says has to be written in the body.
    fn escape(&self) -> Escape {
        let given = self.headers.iter().find(|(name, _)| CONTENT_TYPE == name.as_str());
        match given.map(|(_, media)| media.to_lowercase()) {
            None => Escape::Json,
            Some(media) if media.contains("json") => Escape::Json,
            Some(media) if media.contains("xml") => Escape::Xml,
            Some(media) if media.contains("urlencoded") => Escape::Url,
            Some(_) => Escape::Text,
        }
    }
}

/// What a request has anyway, or what would make another one of it.
const OWN: [HeaderName; 6] =
    [HOST, CONTENT_LENGTH, TRANSFER_ENCODING, CONNECTION, super::NOTICE, super::ATTEMPTS];

fn header((name, value): (&String, &String)) -> Result<(HeaderName, Template), String> {
    let name: HeaderName = name.parse().map_err(|_| format!("'{name}' is no header"))?;
    if OWN.contains(&name) {
        return Err(format!("the header {name} is made by the server"));
    }
    HeaderValue::try_from(value)
        .map_err(|_| format!("the header {name} has what no header can have"))?;
    Ok((name, Template::new(value)?))
}
