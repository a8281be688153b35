//! The settings of a webhook, and their validation.

use std::collections::BTreeMap;
use std::path::PathBuf;

use http::header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, TRANSFER_ENCODING};
use http::{HeaderName, HeaderValue, Method};
use serde::Deserialize;

use super::credentials::WebhookCredentials;
use super::endpoint;
use super::nso::Nso;
use super::pattern::TargetPattern;
use super::template::{Escape, Template};
use super::{RequestFormat, Webhook};
use crate::limits::ReactorLimits;

/// One `[[webhook]]` of `allod.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhookSettings {
    /// The targets: a path with everything below it, or a pattern with `*`. Default: all.
    #[serde(default, rename = "match")]
    pub matches: String,
    #[serde(default)]
    pub shape: ShapeName,
    /// For the plain shape a template, for NSO's the address of the server.
    pub url: String,
    #[serde(default)]
    pub method: Option<String>,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// A template. Default: all fields of the notification, as JSON.
    #[serde(default)]
    pub body: Option<String>,
    /// A file with `user:password` on each line.
    #[serde(default)]
    pub credentials: Option<PathBuf>,
    /// The trusted certificates, instead of those of the operating system.
    #[serde(default)]
    pub ca: Option<PathBuf>,
    /// For NSO's shape: the action if the notification names none.
    #[serde(default)]
    pub action: Option<String>,
    /// For NSO's shape: module names by the prefixes that targets use.
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
    pub(super) fn webhook(&self, limits: &ReactorLimits) -> Result<Webhook, String> {
        let method = match &self.method {
            None => Method::POST,
            Some(text) => Method::from_bytes(text.as_bytes())
                .map_err(|_| format!("'{text}' is not an HTTP method"))?,
        };
        let headers: Vec<_> = self.headers.iter().map(header).collect::<Result<_, _>>()?;
        let credentials = self.credentials.clone().map(WebhookCredentials::new);
        let client = endpoint::client(&self.url, self.ca.as_deref(), limits)?;
        let matches = TargetPattern::new(&self.matches);
        let shape = self.shape()?;
        Ok(Webhook { matches, client, shape, method, headers, credentials })
    }

    fn shape(&self) -> Result<RequestFormat, String> {
        match self.shape {
            ShapeName::Plain if self.action.is_some() || !self.modules.is_empty() => {
                Err("only the shape nso has the settings action and modules".into())
            }
            ShapeName::Plain => {
                let url = Template::new(&self.url)?;
                let body = self.body.as_deref().map(Template::new).transpose()?;
                Ok(RequestFormat::Plain { url, body, escape: self.escape() })
            }
            ShapeName::Nso if self.body.is_some() || self.method.is_some() => {
                Err("the shape nso sets the method and the body itself".into())
            }
            ShapeName::Nso => {
                Ok(RequestFormat::Nso(Nso::new(&self.url, self.action.as_deref(), &self.modules)?))
            }
        }
    }

    /// How to escape placeholders in the body.
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

/// Headers that are set by the server, or would change the framing of the request.
const OWN: [HeaderName; 6] =
    [HOST, CONTENT_LENGTH, TRANSFER_ENCODING, CONNECTION, super::NOTIFICATION, super::ATTEMPTS];

fn header((name, value): (&String, &String)) -> Result<(HeaderName, Template), String> {
    let name: HeaderName =
        name.parse().map_err(|_| format!("'{name}' is not a valid header name"))?;
    if OWN.contains(&name) {
        return Err(format!("the header {name} is set by the server"));
    }
    HeaderValue::try_from(value)
        .map_err(|_| format!("the header {name} has a character that is not allowed"))?;
    Ok((name, Template::new(value)?))
}
