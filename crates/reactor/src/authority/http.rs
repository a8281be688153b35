//! An authority behind an adapter that implements the HTTP contract.
//!
//! Only the answers in the contract are definite. For anything else the outcome is unknown, and the caller finds out
//! with `find`.

use allod_outbound::path_segment;
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::connector::{
    Abilities, Ask, AuthorityAnswer, Fact, Finds, Grant, Known, Listed, Page, RefusalCode,
    Settings, Wish,
};
use super::exchange::{HttpExchange, Received};
use super::value::JsonValue;

/// Texts that an authority chooses and this server stores.
const HANDLE_BYTES_MAX: usize = 1024;
const VERSION_BYTES_MAX: usize = 256;

#[derive(Debug)]
pub struct HttpConnector {
    exchange: HttpExchange,
}

#[derive(Deserialize)]
struct AbilitiesBody {
    find: FindName,
    #[serde(default)]
    list: bool,
    #[serde(default)]
    lookup: bool,
    #[serde(default)]
    idempotent: bool,
    parallel: Option<u16>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum FindName {
    Ref,
    Value,
    None,
}

#[derive(Deserialize)]
struct GrantBody {
    value: JsonValue,
    handle: Option<String>,
    version: Option<String>,
}

#[derive(Deserialize)]
struct RefusalBody {
    code: RefusalName,
    #[serde(default)]
    message: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum RefusalName {
    Taken,
    Exhausted,
    Differs,
}

#[derive(Deserialize)]
struct ListedBody {
    r#ref: String,
    #[serde(flatten)]
    grant: GrantBody,
}

#[derive(Deserialize)]
struct PageBody {
    grants: Vec<ListedBody>,
    next: Option<String>,
}

#[derive(Deserialize)]
struct FactBody {
    value: Value,
    version: Option<String>,
}

impl HttpConnector {
    pub(super) fn new(settings: &Settings) -> Result<HttpConnector, String> {
        Ok(HttpConnector { exchange: HttpExchange::new(settings)? })
    }

    pub(super) async fn abilities(&self) -> AuthorityAnswer<Abilities> {
        let received = match self.exchange.send(Method::GET, "/", None).await {
            Ok(received) => received,
            Err(none) => return none.answer(),
        };
        match received.status {
            StatusCode::OK => self.yes(&received, |body: AbilitiesBody| {
                self.exchange.set_repeatable(body.idempotent);
                Ok(Abilities {
                    finds: match body.find {
                        FindName::Ref => Finds::ByReference,
                        FindName::Value => Finds::ByValue,
                        FindName::None => Finds::No,
                    },
                    list: body.list,
                    lookup: body.lookup,
                    repeats: body.idempotent,
                    parallel: body.parallel.filter(|parallel| *parallel > 0),
                })
            }),
            _ => self.exchange.otherwise(&received),
        }
    }

    pub(super) async fn grant(&self, ask: &Ask) -> AuthorityAnswer<Grant> {
        let path = format!("/grants/{}", path_segment(&ask.reference));
        let body = grant_request(ask);
        let received = match self.exchange.send(Method::PUT, &path, Some(&body)).await {
            Ok(received) => received,
            Err(none) => return none.answer(),
        };
        match received.status {
            StatusCode::OK | StatusCode::CREATED => self.yes(&received, GrantBody::read),
            StatusCode::CONFLICT => match self.exchange.parse::<RefusalBody>(&received) {
                Ok(refusal) => AuthorityAnswer::No {
                    code: match refusal.code {
                        RefusalName::Taken => RefusalCode::Taken,
                        RefusalName::Exhausted => RefusalCode::Exhausted,
                        RefusalName::Differs => RefusalCode::Differs,
                    },
                    message: self.exchange.messages.clean(&refusal.message),
                },
                Err(message) => AuthorityAnswer::Unknown { message },
            },
            _ => self.exchange.otherwise(&received),
        }
    }

    pub(super) async fn find(&self, known: &Known) -> AuthorityAnswer<Option<Grant>> {
        let received = match self.exchange.send(Method::GET, &grant_path(known), None).await {
            Ok(received) => received,
            Err(none) => return none.answer(),
        };
        match received.status {
            StatusCode::OK => self.yes(&received, |body: GrantBody| body.read().map(Some)),
            StatusCode::NOT_FOUND => AuthorityAnswer::Yes(None),
            _ => self.exchange.otherwise(&received),
        }
    }

    pub(super) async fn release(&self, known: &Known) -> AuthorityAnswer<()> {
        let received = match self.exchange.send(Method::DELETE, &grant_path(known), None).await {
            Ok(received) => received,
            Err(none) => return none.answer(),
        };
        match received.status {
            StatusCode::NO_CONTENT | StatusCode::NOT_FOUND => AuthorityAnswer::Yes(()),
            _ => self.exchange.otherwise(&received),
        }
    }

    pub(super) async fn list(&self, after: Option<&str>) -> AuthorityAnswer<Page> {
        let path = match after {
            Some(after) => format!("/grants?after={}", path_segment(after)),
            None => "/grants".to_owned(),
        };
        let received = match self.exchange.send(Method::GET, &path, None).await {
            Ok(received) => received,
            Err(none) => return none.answer(),
        };
        match received.status {
            StatusCode::OK => self.yes(&received, PageBody::read),
            StatusCode::NOT_IMPLEMENTED => AuthorityAnswer::Unsupported,
            _ => self.exchange.otherwise(&received),
        }
    }

    pub(super) async fn look_up(&self, name: &str) -> AuthorityAnswer<Option<Fact>> {
        let path = format!("/lookup/{}", path_segment(name));
        let received = match self.exchange.send(Method::GET, &path, None).await {
            Ok(received) => received,
            Err(none) => return none.answer(),
        };
        match received.status {
            StatusCode::OK => self.yes(&received, |body: FactBody| {
                let version = checked(body.version, "version", VERSION_BYTES_MAX)?;
                Ok(Some(Fact { value: body.value, version }))
            }),
            StatusCode::NOT_FOUND => AuthorityAnswer::Yes(None),
            StatusCode::NOT_IMPLEMENTED => AuthorityAnswer::Unsupported,
            _ => self.exchange.otherwise(&received),
        }
    }

    /// Yes, if the body is valid. With an invalid one the outcome is unknown.
    fn yes<B: for<'de> Deserialize<'de>, T>(
        &self,
        received: &Received,
        read: impl FnOnce(B) -> Result<T, String>,
    ) -> AuthorityAnswer<T> {
        let body = match self.exchange.parse::<B>(received) {
            Ok(body) => body,
            Err(message) => return AuthorityAnswer::Unknown { message },
        };
        match read(body) {
            Ok(read) => AuthorityAnswer::Yes(read),
            Err(why) => {
                let status = received.status.as_u16();
                let text = format!("answered {status} with an invalid body: {why}");
                AuthorityAnswer::Unknown { message: self.exchange.messages.clean(&text) }
            }
        }
    }
}

fn grant_request(ask: &Ask) -> Value {
    let want = match &ask.wish {
        Wish::Any => json!({}),
        Wish::Value(value) => json!({"value": JsonValue(value.clone())}),
        Wish::Length(length) => json!({"length": length}),
    };
    let mut body = json!({"pool": ask.pool, "key": ask.key, "owner": ask.owner, "want": want});
    if !ask.params.is_empty() {
        body["params"] = Value::Object(ask.params.clone());
    }
    body
}

/// The path of a grant, with what authorities need that find by value.
fn grant_path(known: &Known) -> String {
    let mut path = format!("/grants/{}", path_segment(&known.reference));
    let mut separator = '?';
    for (name, value) in [("value", &known.value), ("handle", &known.handle)] {
        if let Some(value) = value {
            path.push(separator);
            path.push_str(name);
            path.push('=');
            path.push_str(&path_segment(value));
            separator = '&';
        }
    }
    path
}

impl GrantBody {
    fn read(self) -> Result<Grant, String> {
        Ok(Grant {
            value: self.value.0,
            handle: checked(self.handle, "handle", HANDLE_BYTES_MAX)?,
            version: checked(self.version, "version", VERSION_BYTES_MAX)?,
        })
    }
}

impl PageBody {
    fn read(self) -> Result<Page, String> {
        let grants = self.grants.into_iter().map(|listed| {
            let Grant { value, handle, version } = listed.grant.read()?;
            Ok(Listed { reference: listed.r#ref, value, handle, version })
        });
        let next = self.next.filter(|next| !next.is_empty());
        Ok(Page { grants: grants.collect::<Result<_, String>>()?, next })
    }
}

fn checked(text: Option<String>, name: &str, max: usize) -> Result<Option<String>, String> {
    match text {
        Some(text) if text.len() > max => {
            Err(format!("{name} has {} bytes, more than {max}", text.len()))
        }
        text => Ok(text),
    }
}
