//! Webhooks: notifications as HTTP requests, with a request format for each webhook.
//!
//! - `settings`: `[[webhook]]` of `allod.toml`
//! - `pattern`: which targets a webhook matches
//! - `template`: URLs, headers and bodies with placeholders
//! - `nso`: the request for an action of an NSO service
//! - `credentials`: user names and passwords
//! - `endpoint`, `send`: one request to one server, within limits

mod credentials;
mod endpoint;
mod nso;
mod pattern;
mod send;
mod settings;
mod template;

use std::sync::Arc;

use allod_core::outbox::Notification;
use allod_outbound::HttpClient;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};
use http_body_util::Full;

pub use settings::WebhookSettings;

use crate::limits::ReactorLimits;
use crate::transport::{ChannelId, Delivery, DeliveryOutcome, Transport};
use credentials::WebhookCredentials;
use nso::Nso;
use pattern::TargetPattern;
use template::{Escape, Template};

/// The number of the notification, by which the receiver recognises duplicates.
const NOTIFICATION: HeaderName = HeaderName::from_static("allod-notice");
/// The number of earlier attempts.
const ATTEMPTS: HeaderName = HeaderName::from_static("allod-attempts");

/// All webhooks. The first one that matches a target is used.
#[derive(Debug)]
pub struct Webhooks {
    hooks: Vec<Arc<Webhook>>,
    limits: ReactorLimits,
}

/// One webhook, validated.
#[derive(Debug)]
struct Webhook {
    matches: TargetPattern,
    client: HttpClient,
    shape: RequestFormat,
    method: Method,
    headers: Vec<(HeaderName, Template)>,
    credentials: Option<WebhookCredentials>,
}

#[derive(Debug)]
enum RequestFormat {
    Plain { url: Template, body: Option<Template>, escape: Escape },
    Nso(Nso),
}

impl Webhooks {
    /// Validates the settings and reads the certificates. The error is for the operator.
    pub fn new(settings: &[WebhookSettings], limits: ReactorLimits) -> Result<Webhooks, String> {
        let hook = |settings: &WebhookSettings| {
            let hook = settings.webhook(&limits);
            hook.map(Arc::new).map_err(|why| format!("the webhook to '{}': {why}", settings.url))
        };
        Ok(Webhooks { hooks: settings.iter().map(hook).collect::<Result<_, _>>()?, limits })
    }
}

impl Transport for Webhooks {
    fn channels(&self) -> usize {
        self.hooks.len()
    }

    fn channel_for(&self, notification: &Notification) -> Option<ChannelId> {
        self.hooks.iter().position(|hook| hook.matches.fits(&notification.target))
    }

    fn deliver(&self, channel: ChannelId, notification: Arc<Notification>) -> Delivery {
        let (hook, limits) = (self.hooks.get(channel).cloned(), self.limits);
        Box::pin(async move {
            let Some(hook) = hook else {
                return DeliveryOutcome::Undeliverable("no webhook matches".into());
            };
            let request = match hook.request(&notification) {
                Ok(request) => request,
                Err(error) => return DeliveryOutcome::Undeliverable(error),
            };
            let request = match hook.authorized(request, &notification.user) {
                Ok(request) => request,
                Err(error) => return DeliveryOutcome::Failed(error),
            };
            match send::send(&hook.client, request, &limits).await {
                Ok(()) => DeliveryOutcome::Delivered,
                Err(error) => DeliveryOutcome::Failed(error),
            }
        })
    }
}

impl Webhook {
    /// The request for a notification, without credentials.
    fn request(&self, notification: &Notification) -> Result<Request<Full<Bytes>>, String> {
        let json = HeaderValue::from_static(self.shape.media());
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, json.clone());
        headers.insert(ACCEPT, json);
        let product = concat!("allod/", env!("CARGO_PKG_VERSION"));
        headers.insert(USER_AGENT, HeaderValue::from_static(product));
        for (name, value) in &self.headers {
            let value = value.fill(notification, Escape::Header);
            let value = HeaderValue::try_from(value).map_err(|_| {
                format!("the header {name} would have a character that is not allowed")
            })?;
            headers.insert(name, value);
        }
        let name = HeaderValue::try_from(notification.name()).map_err(|error| error.to_string())?;
        headers.insert(NOTIFICATION, name);
        headers.insert(ATTEMPTS, notification.attempts.into());
        headers.insert(HOST, self.client.endpoint().host_header().clone());
        let (url, body) = match &self.shape {
            RequestFormat::Plain { url, body, escape } => {
                let body = match body {
                    Some(body) => body.fill(notification, *escape),
                    None => template::whole(notification),
                };
                (url.fill(notification, Escape::Url), body)
            }
            RequestFormat::Nso(nso) => (nso.url(notification)?, String::new()),
        };
        let url: Uri = url.parse().map_err(|error| format!("the URL is invalid: {error}"))?;
        let path = url.path_and_query().map_or("/", |path| path.as_str());
        let mut request = Request::new(Full::new(Bytes::from(body)));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() =
            path.parse().map_err(|error| format!("the URL is invalid: {error}"))?;
        *request.headers_mut() = headers;
        Ok(request)
    }

    /// Adds the credentials, as the file has them now.
    fn authorized(
        &self,
        mut request: Request<Full<Bytes>>,
        user: &str,
    ) -> Result<Request<Full<Bytes>>, String> {
        if let Some(credentials) = &self.credentials {
            request.headers_mut().insert(AUTHORIZATION, credentials.of(user)?);
        }
        Ok(request)
    }
}

impl RequestFormat {
    fn media(&self) -> &'static str {
        match self {
            RequestFormat::Plain { .. } => "application/json",
            RequestFormat::Nso(_) => "application/yang-data+json",
        }
    }
}

#[cfg(test)]
fn sample() -> Notification {
    Notification {
        number: 1042 << 32 | 3,
        target: "/ncs:services/vpn:l3vpn[name='a b']".into(),
        user: "admin".into(),
        payload: allod_core::outbox::Payload("touch"),
        about: vec![("lan1".into(), "a".into()), ("lan2".into(), "a\"".into())],
        at_ms: 0,
        attempts: 2,
        error: None,
        due_ms: Some(0),
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    /// The request for the sample, as text.
    async fn request(settings: &str) -> Result<String, String> {
        let settings: WebhookSettings = toml::from_str(settings).map_err(|e| e.to_string())?;
        let (head, body) =
            settings.webhook(&ReactorLimits::default())?.request(&sample())?.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let headers = ["content-type", "x-user", "allod-notice", "allod-attempts", "host"];
        let headers = headers.into_iter().filter_map(|name| {
            Some(format!("{name}: {}\n", head.headers.get(name)?.to_str().unwrap()))
        });
        let headers: String = headers.collect();
        let body = String::from_utf8(body.to_vec()).unwrap();
        Ok(format!("{} {}\n{headers}{body}", head.method, head.uri))
    }

    #[tokio::test]
    async fn default_request_posts_all_fields() {
        let said = request("url = \"http://hooks:8000/services?from=allod\"").await.unwrap();
        let wanted = r#"POST /services?from=allod
content-type: application/json
allod-notice: 1042-3
allod-attempts: 2
host: hooks:8000
{"number":"1042-3","target":"/ncs:services/vpn:l3vpn[name='a b']","user":"admin","how":"touch","pools":[{"pool":"lan1","allocation":"a"},{"pool":"lan2","allocation":"a\""}]}"#;
        assert_eq!(said, wanted);
    }

    #[tokio::test]
    async fn placeholders_are_escaped_for_their_context() {
        let settings = r#"
            url = "http://hooks/{how}/{target}?n={number}&p={pools}"
            method = "PUT"
            headers = { X-User = "{user}", Content-Type = "application/xml" }
            body = "<t at='{target}' about=\"{pools}\"/>"
        "#;
        let wanted = "PUT /touch/%2Fncs%3Aservices%2Fvpn%3Al3vpn%5Bname%3D%27a%20b%27%5D?n=1042-3&p=lan1%2Clan2
content-type: application/xml
x-user: admin
allod-notice: 1042-3
allod-attempts: 2
host: hooks
<t at='/ncs:services/vpn:l3vpn[name=&apos;a b&apos;]' about=\"lan1,lan2\"/>";
        assert_eq!(request(settings).await.unwrap(), wanted);
        let settings = r#"
            url = "http://hooks/"
            body = '{"service":"{target}","about":{pools}}'
        "#;
        let wanted = r#"{"service":"/ncs:services/vpn:l3vpn[name='a b']","about":[{"pool":"lan1","allocation":"a"},{"pool":"lan2","allocation":"a\""}]}"#;
        assert!(request(settings).await.unwrap().ends_with(wanted));
    }

    #[tokio::test]
    async fn nso_format_calls_an_action_of_the_service() {
        let said = request("url = \"http://nso:8080/\"\nshape = \"nso\"").await.unwrap();
        let wanted = "POST /restconf/data/tailf-ncs:services/vpn:l3vpn=a%20b/touch
content-type: application/yang-data+json
allod-notice: 1042-3
allod-attempts: 2
host: nso:8080
";
        assert_eq!(said, wanted);
    }

    #[tokio::test]
    async fn invalid_settings_are_refused() {
        for (settings, words) in [
            ("url = \"hooks\"", "is not a valid address; use http://"),
            ("url = \"ftp://hooks/\"", "is not a valid address"),
            ("url = \"http://{user}/\"", "is not a valid address"),
            ("url = \"http://a:b@hooks/\"", "is not a valid address"),
            ("url = \"http://hooks/{who}\"", "unknown placeholder {who}"),
            ("url = \"http://hooks/\"\nbody = \"{me}\"", "unknown placeholder {me}"),
            ("url = \"http://hooks/\"\nmethod = \"a b\"", "'a b' is not an HTTP method"),
            (
                "url = \"http://hooks/\"\nheaders = { \"a b\" = \"c\" }",
                "'a b' is not a valid header name",
            ),
            ("url = \"http://hooks/\"\nheaders = { a = \"\\u0001\" }", "that is not allowed"),
            ("url = \"http://h/\"\nheaders = { Content-Length = \"5\" }", "is set by the server"),
            ("url = \"http://h/\"\nheaders = { host = \"other\" }", "is set by the server"),
            ("url = \"http://hooks/\"\nshape = \"xml\"", "unknown variant `xml`"),
            ("url = \"http://hooks/\"\nbodi = \"c\"", "unknown field `bodi`"),
            ("url = \"http://hooks/\"\nshape = \"nso\"\nbody = \"c\"", "the shape nso sets"),
            ("url = \"http://hooks/\"\naction = \"touch\"", "only the shape nso has"),
            ("url = \"https://hooks/\"\nca = \"/nowhere\"", "/nowhere cannot be read"),
        ] {
            let error = request(settings).await.unwrap_err();
            assert!(error.contains(words), "{settings}: {error}");
        }
    }
}
