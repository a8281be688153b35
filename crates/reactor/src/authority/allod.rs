//! A pool of another allod server as an authority. A grant is a claim there, and our reference is its key.
//!
//! Claims are idempotent, so a grant can be repeated, and 404 and 409 have a code that shows that allod has sent them.

use allod_outbound::path_segment;
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

use super::connector::{
    Abilities, Ask, AuthorityAnswer, Fact, Finds, Grant, Known, Listed, Page, RefusalCode,
    Settings, Wish,
};
use super::exchange::{HttpExchange, Received};
use super::value::JsonValue;

/// The labels of a claim that is one of our grants.
const POOL_LABEL: &str = "allod-pool";
const KEY_LABEL: &str = "allod-key";
/// That server refuses longer labels.
const LABEL_BYTES_MAX: usize = 256;

/// A page of this size is well below the size limit of an answer.
const PAGE_CLAIMS: usize = 500;
/// When to ask again about a claim that the other server is still working on.
const SOON: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct AllodConnector {
    exchange: HttpExchange,
    /// The pool there.
    pool: String,
}

#[derive(Deserialize)]
struct ClaimBody {
    key: String,
    /// Missing while an authority of that server has not granted it.
    value: Option<JsonValue>,
    version: Option<u64>,
    #[serde(default)]
    state: String,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct ClaimListBody {
    claims: Vec<ClaimBody>,
    next: Option<String>,
}

impl AllodConnector {
    pub(super) fn new(settings: &Settings, pool: String) -> Result<AllodConnector, String> {
        if pool.is_empty() {
            return Err("the pool at the other server is missing".into());
        }
        let exchange = HttpExchange::new(settings)?;
        exchange.set_repeatable(true);
        Ok(AllodConnector { exchange, pool })
    }

    pub(super) fn abilities(&self) -> AuthorityAnswer<Abilities> {
        let finds = Finds::ByReference;
        AuthorityAnswer::Yes(Abilities {
            finds,
            list: true,
            lookup: false,
            repeats: true,
            parallel: None,
        })
    }

    pub(super) async fn grant(&self, ask: &Ask) -> AuthorityAnswer<Grant> {
        let (path, body) = (self.claim_path(&ask.reference), claim_request(ask));
        let received = match self.exchange.send(Method::PUT, &path, Some(&body)).await {
            Ok(received) => received,
            Err(none) => return none.answer(),
        };
        match received.status {
            StatusCode::OK | StatusCode::CREATED => self.granted(&received, &ask.reference),
            StatusCode::ACCEPTED => self.soon(&received),
            _ => match self.refusal(&received) {
                Some(code) => AuthorityAnswer::No { code, message: self.exchange.said(&received) },
                None => self.not_carried_out(&received),
            },
        }
    }

    pub(super) async fn find(&self, known: &Known) -> AuthorityAnswer<Option<Grant>> {
        let path = self.claim_path(&known.reference);
        let received = match self.exchange.send(Method::GET, &path, None).await {
            Ok(received) => received,
            Err(none) => return none.answer(),
        };
        match received.status {
            StatusCode::OK => match self.granted(&received, &known.reference) {
                AuthorityAnswer::Yes(grant) => AuthorityAnswer::Yes(Some(grant)),
                AuthorityAnswer::NotNow { after, message } => {
                    AuthorityAnswer::NotNow { after, message }
                }
                AuthorityAnswer::Working { after, message } => {
                    AuthorityAnswer::Working { after, message }
                }
                AuthorityAnswer::No { message, .. } | AuthorityAnswer::Unknown { message } => {
                    AuthorityAnswer::Unknown { message }
                }
                AuthorityAnswer::Unsupported => AuthorityAnswer::Unsupported,
            },
            StatusCode::ACCEPTED => self.soon(&received),
            StatusCode::NOT_FOUND if has_code(&received, &["claim_unknown"]) => {
                AuthorityAnswer::Yes(None)
            }
            _ => self.not_carried_out(&received),
        }
    }

    pub(super) async fn release(&self, known: &Known) -> AuthorityAnswer<()> {
        let path = self.claim_path(&known.reference);
        let received = match self.exchange.send(Method::DELETE, &path, None).await {
            Ok(received) => received,
            Err(none) => return none.answer(),
        };
        match received.status {
            StatusCode::OK | StatusCode::NO_CONTENT => AuthorityAnswer::Yes(()),
            StatusCode::ACCEPTED => self.soon(&received),
            // A pool is deleted only when it has no claims.
            StatusCode::NOT_FOUND if has_code(&received, &["claim_unknown", "pool_unknown"]) => {
                AuthorityAnswer::Yes(())
            }
            _ => self.not_carried_out(&received),
        }
    }

    /// The claims with our labels. Another server may have some of them, if it uses the same pool.
    pub(super) async fn list(&self, after: Option<&str>) -> AuthorityAnswer<Page> {
        let mut path = format!("/v1/pools/{}/claims?limit={PAGE_CLAIMS}", path_segment(&self.pool));
        if let Some(after) = after {
            path.push_str("&after=");
            path.push_str(&path_segment(after));
        }
        let received = match self.exchange.send(Method::GET, &path, None).await {
            Ok(received) => received,
            Err(none) => return none.answer(),
        };
        if received.status != StatusCode::OK {
            return self.not_carried_out(&received);
        }
        let body: ClaimListBody = match self.exchange.parse(&received) {
            Ok(body) => body,
            Err(message) => return AuthorityAnswer::Unknown { message },
        };
        let ours = body.claims.into_iter().filter(|claim| {
            claim.labels.contains_key(POOL_LABEL) && claim.labels.contains_key(KEY_LABEL)
        });
        let grants = ours.filter_map(|claim| {
            let version = claim.version.map(|version| version.to_string());
            let value = claim.value?.0;
            Some(Listed { reference: claim.key, value, handle: None, version })
        });
        let next = body.next.filter(|next| !next.is_empty());
        AuthorityAnswer::Yes(Page { grants: grants.collect(), next })
    }

    pub(super) fn look_up(&self) -> AuthorityAnswer<Option<Fact>> {
        AuthorityAnswer::Unsupported
    }

    fn claim_path(&self, reference: &str) -> String {
        let (pool, key) = (path_segment(&self.pool), path_segment(reference));
        format!("/v1/pools/{pool}/claims/{key}")
    }

    /// The claim in a success.
    fn granted(&self, received: &Received, reference: &str) -> AuthorityAnswer<Grant> {
        let claim: ClaimBody = match self.exchange.parse(received) {
            Ok(claim) => claim,
            Err(message) => return AuthorityAnswer::Unknown { message },
        };
        let invalid = |why: String| {
            let status = received.status.as_u16();
            let text = format!("answered {status} with an invalid body: {why}");
            AuthorityAnswer::Unknown { message: self.exchange.messages.clean(&text) }
        };
        if claim.key != reference {
            return invalid(format!("the claim has key '{}'", claim.key));
        }
        match (claim.state.as_str(), claim.value) {
            ("" | "held", Some(value)) => AuthorityAnswer::Yes(Grant {
                value: value.0,
                handle: None,
                version: claim.version.map(|version| version.to_string()),
            }),
            ("wanted", _) => self.soon(received),
            (state, _) => invalid(format!("the claim has state '{state}'")),
        }
    }

    fn soon<T>(&self, received: &Received) -> AuthorityAnswer<T> {
        let status = received.status.as_u16();
        let message = format!("answered {status}: the other server has not finished");
        AuthorityAnswer::Working { after: SOON, message }
    }

    /// Why that server never grants this request.
    fn refusal(&self, received: &Received) -> Option<RefusalCode> {
        let code = received.text("code")?;
        match (received.status, code.as_str()) {
            (StatusCode::CONFLICT, "taken" | "value_quarantined") => Some(RefusalCode::Taken),
            (StatusCode::CONFLICT, "exhausted") => Some(RefusalCode::Exhausted),
            (
                StatusCode::CONFLICT,
                "params_differ" | "value_outside" | "value_excluded" | "value_draining",
            )
            | (StatusCode::BAD_REQUEST, "invalid" | "malformed") => Some(RefusalCode::Differs),
            _ => None,
        }
    }

    /// An error answer. With one of these statuses a server has changed nothing.
    fn not_carried_out<T>(&self, received: &Received) -> AuthorityAnswer<T> {
        match received.status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => self.exchange.not_now(received),
            StatusCode::NOT_FOUND if has_code(received, &["pool_unknown"]) => {
                self.exchange.not_now(received)
            }
            StatusCode::CONFLICT | StatusCode::UNPROCESSABLE_ENTITY
                if received.text("code").is_some() =>
            {
                self.exchange.not_now(received)
            }
            _ => self.exchange.otherwise(received),
        }
    }
}

fn has_code(received: &Received, codes: &[&str]) -> bool {
    received.text("code").is_some_and(|code| codes.contains(&code.as_str()))
}

fn claim_request(ask: &Ask) -> Value {
    let labels = json!({POOL_LABEL: label(&ask.pool), KEY_LABEL: label(&ask.key)});
    let mut body = json!({"owner": ask.owner, "labels": labels});
    match &ask.wish {
        Wish::Any => {}
        Wish::Value(value) => body["value"] = json!(JsonValue(value.clone())),
        Wish::Length(length) => body["prefix_len"] = json!(length),
    }
    body
}

/// The beginning of the text, if it is longer than a label may be.
fn label(text: &str) -> &str {
    &text[..text.floor_char_boundary(LABEL_BYTES_MAX)]
}
