//! The OpenAPI 3.1 document: the routes from the table, the schemas from the wire types.

mod forms;
mod links;

use allod_edge::Access;
use utoipa::openapi::path::{
    HttpMethod, Operation, OperationBuilder, Parameter, ParameterBuilder, ParameterIn, PathItem,
    Paths,
};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::{AdditionalProperties, Object, ObjectBuilder, Type};
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::{
    Components, Content, Header, InfoBuilder, OpenApiBuilder, Ref, RefOr, Required, Response,
    ResponseBuilder, Schema,
};
use utoipa::{PartialSchema, ToSchema};

use crate::routes::{ReplySpec, RouteEntry, table};
use crate::wire;

const ABOUT: &str = "allod allocates ids, addresses, prefixes and capacity, each exactly once. \
The header Allod-Position of an answer is the position of the journal that it reflects.";

/// Replies to failed authentication and authorisation, on every route that is not open.
const GUARDED: &[ReplySpec] = &[
    ReplySpec(401, Some("Problem"), "The token is missing, unknown or expired."),
    ReplySpec(
        403,
        Some("Problem"),
        "The role of the token is not sufficient, the token is restricted to other pools, or a web page of another site sent the request.",
    ),
];

/// Replies of the HTTP server on every route.
const ANYWHERE: &[ReplySpec] = &[
    ReplySpec(405, Some("Problem"), "The method is not allowed; see Allow."),
    ReplySpec(408, Some("Problem"), "The request did not arrive in time."),
    ReplySpec(413, Some("Problem"), "The body or the resulting record is too large."),
    ReplySpec(414, Some("Problem"), "Path and query are too long."),
    ReplySpec(415, Some("Problem"), "The body is not application/json, or has no Content-Type."),
    ReplySpec(429, Some("Problem"), "The client has too many bytes in flight; see Retry-After."),
    ReplySpec(431, None, "The headers are too long."),
    ReplySpec(500, Some("Problem"), "Internal error."),
    ReplySpec(503, Some("Problem"), "Temporarily unavailable; see Retry-After."),
    ReplySpec(504, Some("Problem"), "The request timed out. It may have been carried out."),
];

const BEARER: &str = "bearer";
const X_AUTH_TOKEN: &str = "x_auth_token";
const TOKEN_ABOUT: &str = "A token from the tokens file. Only with --auth tokens.";
const NO_SCOPES: [&str; 0] = [];

/// The document as JSON.
pub fn document() -> String {
    let mut paths = Paths::new();
    for entry in table() {
        // `{*value}` matches slashes too, which OpenAPI cannot express.
        let path = entry.path.replace("{*", "{");
        let item = PathItem::new(method(&entry.method), operation(entry));
        match paths.paths.get_mut(&path) {
            Some(known) => known.merge_operations(item),
            None => {
                paths.paths.insert(path, item);
            }
        }
    }
    let info = InfoBuilder::new()
        .title("allod")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(ABOUT))
        .build();
    let document =
        OpenApiBuilder::new().info(info).paths(paths).components(Some(components())).build();
    // Strings and numbers can always be serialised.
    document.to_pretty_json().unwrap_or_default()
}

fn method(method: &http::Method) -> HttpMethod {
    match method.as_str() {
        "PUT" => HttpMethod::Put,
        "POST" => HttpMethod::Post,
        "DELETE" => HttpMethod::Delete,
        _ => HttpMethod::Get,
    }
}

fn operation(entry: &RouteEntry) -> Operation {
    let mut operation = OperationBuilder::new()
        .tag(tag(entry.path))
        .operation_id(Some(entry.name))
        .summary(Some(entry.summary));
    for name in entry.path.split('/').filter_map(|part| part.strip_prefix('{')) {
        let name = name.trim_start_matches('*').trim_end_matches('}');
        let about = "Percent-encoded; may contain any character.";
        operation = operation.parameter(parameter(entry, name, ParameterIn::Path, about));
    }
    for param in entry.request.query {
        let (name, about) = (param.name, param.about);
        operation = operation.parameter(parameter(entry, name, ParameterIn::Query, about));
    }
    for header in entry.request.headers {
        let (name, about) = (header.name, header.about);
        operation = operation.parameter(parameter(entry, name, ParameterIn::Header, about));
    }
    if let Some(schema) = entry.request.body {
        // All members of the other bodies are optional.
        let needed = matches!(
            schema,
            "PoolBody"
                | "TransactionBody"
                | "CandidatesBody"
                | "AuthorityBody"
                | "ResolveBody"
                | "SettleBody"
        );
        let required = if needed { Required::True } else { Required::False };
        let body = RequestBodyBuilder::new()
            .content("application/json", content(schema))
            .required(Some(required));
        operation = operation.request_body(Some(body.build()));
    }
    let known = entry.replies.iter().map(|shape| shape.0);
    let known: Vec<u16> = known.collect();
    let guarded = if entry.access == Access::Open { &[] } else { GUARDED };
    let anywhere = guarded.iter().chain(ANYWHERE).filter(|shape| !known.contains(&shape.0));
    if entry.access != Access::Open {
        // A token in either header, or none if authentication is off.
        let schemes = [BEARER, X_AUTH_TOKEN].map(|name| SecurityRequirement::new(name, NO_SCOPES));
        operation = operation.securities(Some(schemes.into_iter().chain([Default::default()])));
    }
    for shape in entry.replies.iter().chain(anywhere) {
        operation = operation.response(shape.0.to_string(), response(entry, shape));
    }
    operation.build()
}

/// The tag of a route.
fn tag(path: &str) -> &'static str {
    let heading = |word: &&str| path.contains(&format!("/{word}"));
    [
        "lookups",
        "authorities",
        "watch",
        "history",
        "transactions",
        "claims",
        "values",
        "pools",
        "providers",
        "consumers",
        "candidates",
        "alarms",
        "outbox",
    ]
    .into_iter()
    .find(heading)
    .map_or("server", |word| match word {
        "watch" => "history",
        "lookups" => "authorities",
        "providers" | "consumers" | "candidates" => "capacity",
        "alarms" | "outbox" => "alarms and notifications",
        word => word,
    })
}

fn parameter(entry: &RouteEntry, name: &str, place: ParameterIn, about: &str) -> Parameter {
    let form = forms::form(entry.name, name);
    let required = if place == ParameterIn::Path { Required::True } else { Required::False };
    ParameterBuilder::new()
        .name(name)
        .parameter_in(place)
        .required(required)
        .description(Some(about))
        .schema(Some(form.unwrap_or_else(|| Object::with_type(Type::String).into())))
        .build()
}

fn content(schema: &str) -> Content {
    Content::new(Some(Ref::from_schema_name(schema)))
}

fn response(entry: &RouteEntry, shape: &ReplySpec) -> Response {
    let ReplySpec(status, schema, about) = shape;
    let mut response = ResponseBuilder::new().description(*about);
    if let Some(schema) = schema {
        let media = match *schema {
            "Problem" => "application/problem+json",
            "Change" => "text/event-stream",
            "Page" => "text/html",
            _ => "application/json",
        };
        response = response.content(media, content(schema));
    }
    let text = || Header::new(Object::with_type(Type::String));
    response = response.header("X-Request-Id", text());
    if *status < 300 || matches!(status, 404 | 409 | 410 | 412 | 422) {
        response = response.header("Allod-Position", Header::new(Object::with_type(Type::Integer)));
        response = response.header("Allod-Hash", text());
    }
    for (name, link) in links::links(entry.name, *status) {
        response = response.link(name, link);
    }
    response.build()
}

fn components() -> Components {
    let mut all: Vec<(String, RefOr<Schema>)> = Vec::new();
    add::<wire::PoolBody>(&mut all);
    add::<wire::ClaimBody>(&mut all);
    add::<wire::RenewBody>(&mut all);
    add::<wire::TransactionBody>(&mut all);
    add::<wire::AuthorityBody>(&mut all);
    add::<wire::AuthorityList<'_>>(&mut all);
    add::<wire::ResolveBody>(&mut all);
    add::<wire::LookUpBody>(&mut all);
    add::<wire::LookUpList<'_>>(&mut all);
    add::<wire::HintsBody>(&mut all);
    add::<wire::Reconciliation<'_>>(&mut all);
    add::<wire::SettleBody>(&mut all);
    add::<wire::SettleAnswer>(&mut all);
    add::<wire::PoolList<'_>>(&mut all);
    add::<wire::ClaimList<'_>>(&mut all);
    add::<wire::ValueAnswer<'_>>(&mut all);
    add::<wire::TransactionAnswer<'_>>(&mut all);
    add::<wire::ProviderList<'_>>(&mut all);
    add::<wire::CandidatesBody>(&mut all);
    add::<wire::CandidatesAnswer>(&mut all);
    add::<wire::ConsumerList<'_>>(&mut all);
    add::<wire::AlarmList<'_>>(&mut all);
    add::<wire::PurgeBody>(&mut all);
    add::<wire::NoticeList<'_>>(&mut all);
    add::<wire::HistoryAnswer<'_>>(&mut all);
    add::<wire::Change<'_>>(&mut all);
    add::<wire::ProblemMembers<'_>>(&mut all);
    add::<wire::Status>(&mut all);
    all.push(("Limits".into(), limits()));
    all.push(("Document".into(), described(Type::Object, "An OpenAPI 3.1 document.")));
    all.push(("Page".into(), described(Type::String, "A page of HTML.")));
    let mut components = Components::new();
    components.schemas.extend(all);
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some(TOKEN_ABOUT));
    components.add_security_scheme(BEARER, SecurityScheme::Http(bearer.build()));
    let header = ApiKeyValue::with_description(
        "X-Auth-Token",
        "The same token, as OpenStack clients send it.",
    );
    components.add_security_scheme(X_AUTH_TOKEN, SecurityScheme::ApiKey(ApiKey::Header(header)));
    for name in ["OpBody", "CheckBody"] {
        components.schemas.get_mut(name).map(close);
    }
    components
}

/// Allows no other members, which the derived schema does not say.
fn close(schema: &mut RefOr<Schema>) {
    let RefOr::T(Schema::OneOf(choices)) = schema else { return };
    for choice in &mut choices.items {
        if let RefOr::T(Schema::Object(choice)) = choice {
            let nothing = AdditionalProperties::FreeForm(false);
            choice.additional_properties = Some(Box::new(nothing));
        }
    }
}

/// A schema with all schemas that it refers to.
fn add<T: ToSchema + PartialSchema>(all: &mut Vec<(String, RefOr<Schema>)>) {
    all.push((T::name().into_owned(), T::schema()));
    T::schemas(all);
}

fn described(form: Type, about: &str) -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(form).description(Some(about)).into()
}

fn limits() -> RefOr<Schema> {
    let number: RefOr<Schema> = Object::with_type(Type::Integer).into();
    let mut limits = Object::with_type(Type::Object);
    limits.additional_properties = Some(Box::new(number.into()));
    Schema::Object(limits).into()
}
