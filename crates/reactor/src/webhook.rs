//! Webhooks: notices told by HTTP requests, in a shape that is configured for each kind of target.
//!
//! - `settings`: as an operator writes it, in `[[webhook]]` of `allod.toml`
//! - `pattern`: which targets a webhook is for
//! - `template`: texts with places for what a notice says
//! - `nso`: the shape of a re-deploy action of NSO
//! - `credentials`: who we are there
//! - `endpoint`, `send`: one request to one server, within limits

mod credentials;
mod endpoint;
mod nso;
mod pattern;
mod send;
mod settings;
mod template;

use std::sync::Arc;

use allod_core::state::outbox::Notice;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};
use http_body_util::Full;

pub use settings::WebhookSettings;

use crate::courier::{Courier, Lane, Telling, Told};
use crate::limits::Limits;
use credentials::Credentials;
use endpoint::Endpoint;
use nso::Nso;
use pattern::Pattern;
use template::{Escape, Template};

/// Says which notice a request tells: whoever gets one twice knows it by this.
const NOTICE: HeaderName = HeaderName::from_static("allod-notice");
/// How often it has been tried before.
const ATTEMPTS: HeaderName = HeaderName::from_static("allod-attempts");

/// All webhooks, in the order in which they are tried: the first that is for a target tells it.
#[derive(Debug)]
pub struct Webhooks {
    hooks: Vec<Arc<Webhook>>,
    limits: Limits,
}

/// One webhook as it is meant.
#[derive(Debug)]
struct Webhook {
    matches: Pattern,
    endpoint: Endpoint,
    shape: Shape,
    method: Method,
    headers: Vec<(HeaderName, Template)>,
    credentials: Option<Credentials>,
}

#[derive(Debug)]
enum Shape {
    Plain { url: Template, body: Option<Template>, escape: Escape },
    Nso(Nso),
}

impl Webhooks {
    /// Reads the certificates that they name. In words for the operator what is wrong, if something is.
    pub fn new(settings: &[WebhookSettings], limits: Limits) -> Result<Webhooks, String> {
        let hook = |settings: &WebhookSettings| {
            let hook = settings.webhook();
            hook.map(Arc::new).map_err(|why| format!("the webhook to '{}': {why}", settings.url))
        };
        Ok(Webhooks { hooks: settings.iter().map(hook).collect::<Result<_, _>>()?, limits })
    }
}

impl Courier for Webhooks {
    fn lanes(&self) -> usize {
        self.hooks.len()
    }

    fn lane(&self, notice: &Notice) -> Option<Lane> {
        self.hooks.iter().position(|hook| hook.matches.fits(&notice.target))
    }

    fn tell(&self, lane: Lane, notice: Arc<Notice>) -> Telling {
        let (hook, limits) = (self.hooks.get(lane).cloned(), self.limits);
        Box::pin(async move {
            let Some(hook) = hook else { return Told::Never("no webhook is for it".into()) };
            let request = match hook.request(&notice) {
                Ok(request) => request,
                Err(error) => return Told::Never(error),
            };
            let request = match hook.authorized(request, &notice.user) {
                Ok(request) => request,
                Err(error) => return Told::No(error),
            };
            match send::send(&hook.endpoint, request, &limits).await {
                Ok(()) => Told::Yes,
                Err(error) => Told::No(error),
            }
        })
    }
}

impl Webhook {
    /// The request that tells a notice, without who we are.
    fn request(&self, notice: &Notice) -> Result<Request<Full<Bytes>>, String> {
        let json = HeaderValue::from_static(self.shape.media());
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, json.clone());
        headers.insert(ACCEPT, json);
        let product = concat!("allod/", env!("CARGO_PKG_VERSION"));
        headers.insert(USER_AGENT, HeaderValue::from_static(product));
        for (name, value) in &self.headers {
            let value = value.fill(notice, Escape::Header);
            let value = HeaderValue::try_from(value)
                .map_err(|_| format!("the header {name} would have what no header can have"))?;
            headers.insert(name, value);
        }
        let name = HeaderValue::try_from(notice.name()).map_err(|error| error.to_string())?;
        headers.insert(NOTICE, name);
        headers.insert(ATTEMPTS, notice.attempts.into());
        headers.insert(HOST, self.endpoint.host_header().clone());
        let (url, body) = match &self.shape {
            Shape::Plain { url, body, escape } => {
                let body = match body {
                    Some(body) => body.fill(notice, *escape),
                    None => template::whole(notice),
                };
                (url.fill(notice, Escape::Url), body)
            }
            Shape::Nso(nso) => (nso.url(notice)?, String::new()),
        };
        let url: Uri = url.parse().map_err(|error| format!("the url is none: {error}"))?;
        let path = url.path_and_query().map_or("/", |path| path.as_str());
        let mut request = Request::new(Full::new(Bytes::from(body)));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = path.parse().map_err(|error| format!("the url is none: {error}"))?;
        *request.headers_mut() = headers;
        Ok(request)
    }

    /// Adds who we are, as the file says at this moment.
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

impl Shape {
    fn media(&self) -> &'static str {
        match self {
            Shape::Plain { .. } => "application/json",
            Shape::Nso(_) => "application/yang-data+json",
        }
    }
}

#[cfg(test)]
fn sample() -> Notice {
    let how = allod_core::resource::Redeploy::Touch;
    Notice {
        number: 1042 << 32 | 3,
        target: "/ncs:services/vpn:l3vpn[name='a b']".into(),
        user: "admin".into(),
        how,
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

    /// The request that a webhook makes of the sample, as text.
    async fn request(settings: &str) -> Result<String, String> {
        let settings: WebhookSettings = toml::from_str(settings).map_err(|e| e.to_string())?;
        let (head, body) = settings.webhook()?.request(&sample())?.into_parts();
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
    async fn without_a_shape_all_that_a_notice_says_is_posted() {
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
    async fn a_template_is_filled_as_its_place_needs_it() {
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
    async fn the_shape_of_nso_is_an_action_of_the_service() {
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
    async fn what_cannot_be_meant_is_told_at_the_start() {
        for (settings, words) in [
            ("url = \"hooks\"", "is no address; one is http://"),
            ("url = \"ftp://hooks/\"", "is no address"),
            ("url = \"http://{user}/\"", "is no address"),
            ("url = \"http://a:b@hooks/\"", "is no address"),
            ("url = \"http://hooks/{who}\"", "{who} is nothing that a notice says"),
            ("url = \"http://hooks/\"\nbody = \"{me}\"", "{me} is nothing"),
            ("url = \"http://hooks/\"\nmethod = \"a b\"", "'a b' is no method"),
            ("url = \"http://hooks/\"\nheaders = { \"a b\" = \"c\" }", "'a b' is no header"),
            ("url = \"http://hooks/\"\nheaders = { a = \"\\u0001\" }", "no header can have"),
            ("url = \"http://h/\"\nheaders = { Content-Length = \"5\" }", "is made by the server"),
            ("url = \"http://h/\"\nheaders = { host = \"other\" }", "is made by the server"),
            ("url = \"http://hooks/\"\nshape = \"xml\"", "unknown variant `xml`"),
            ("url = \"http://hooks/\"\nbodi = \"c\"", "unknown field `bodi`"),
            ("url = \"http://hooks/\"\nshape = \"nso\"\nbody = \"c\"", "the shape nso has"),
            ("url = \"http://hooks/\"\naction = \"touch\"", "only the shape nso has an action"),
            ("url = \"https://hooks/\"\nca = \"/nowhere\"", "/nowhere cannot be read"),
        ] {
            let error = request(settings).await.unwrap_err();
            assert!(error.contains(words), "{settings}: {error}");
        }
    }
}
