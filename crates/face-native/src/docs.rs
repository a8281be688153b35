//! The OpenAPI document as an HTML page: every operation and schema, with an example of each request.
//!
//! The page has no scripts, fonts or images and loads nothing, so that it works without access to the internet. It is
//! generated from the document alone.

mod example;
mod html;
mod schema;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use self::html::{Html, list, text, word};

const STYLE: &str = include_str!("docs/style.css");

/// The page for a document. An invalid document, which is a bug, results in an empty page.
pub(crate) fn page(document: &str) -> String {
    let document: Value = serde_json::from_str(document).unwrap_or_default();
    let mut html = Html::default();
    let title = word(&document["info"]["title"]);
    html.raw("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">");
    html.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    html.raw("<meta name=\"color-scheme\" content=\"light dark\">");
    html.tagged("title", "", &format!("{title}: API"));
    html.raw("<style>").raw(STYLE).raw("</style></head><body>");
    html.tag("header", "", |html| {
        html.tag("h1", "", |html| {
            html.text(title).raw(" ");
            html.tagged("small", "", word(&document["info"]["version"]));
        });
        html.tagged("p", "", text(&document["info"]["description"]));
        html.tag("p", "", |html| {
            html.raw("For programs: <a href=\"/v1/openapi.json\">/v1/openapi.json</a>");
        });
    });
    let operations = by_tag(&document);
    contents(&mut html, &operations, &document);
    html.raw("<main>");
    for (tag, operations) in &operations {
        html.tagged("h2", &format!("id=\"tag-{tag}\""), tag);
        for operation in operations {
            operation.show(&mut html, &document);
        }
    }
    html.tagged("h2", "id=\"schemas\"", "schemas");
    for (name, given) in members(&document["components"]["schemas"]) {
        html.tag("section", &format!("id=\"schema-{name}\" class=\"schema\""), |html| {
            html.tag("h3", "", |html| {
                html.tagged("a", &format!("href=\"#schema-{name}\""), name);
            });
            schema::show(html, given);
        });
    }
    html.raw("</main></body></html>");
    html.done()
}

/// One operation of the document.
struct DocOperation<'a> {
    method: String,
    path: &'a str,
    given: &'a Value,
}

fn by_tag(document: &Value) -> BTreeMap<&str, Vec<DocOperation<'_>>> {
    let mut all: BTreeMap<&str, Vec<DocOperation<'_>>> = BTreeMap::new();
    for (path, item) in members(&document["paths"]) {
        for (method, given) in members(item) {
            let operation = DocOperation { method: method.to_uppercase(), path, given };
            all.entry(word(&given["tags"][0])).or_default().push(operation);
        }
    }
    all
}

fn contents(html: &mut Html, all: &BTreeMap<&str, Vec<DocOperation<'_>>>, document: &Value) {
    html.tag("nav", "", |html| {
        for (tag, operations) in all {
            html.tagged("a", &format!("href=\"#tag-{tag}\" class=\"tag\""), tag);
            for operation in operations {
                html.tag("a", &format!("href=\"#{}\"", operation.name()), |html| {
                    html.tagged("code", "", &operation.method);
                    html.raw(" ").text(operation.path);
                });
            }
        }
        html.raw("<a href=\"#schemas\" class=\"tag\">schemas</a>");
        for (name, _) in members(&document["components"]["schemas"]) {
            html.tagged("a", &format!("href=\"#schema-{name}\""), name);
        }
    });
}

impl DocOperation<'_> {
    fn name(&self) -> &str {
        word(&self.given["operationId"])
    }

    fn show(&self, html: &mut Html, document: &Value) {
        let name = self.name();
        html.tag("section", &format!("id=\"{name}\" class=\"operation\""), |html| {
            html.tag("h3", "", |html| {
                html.tag("a", &format!("href=\"#{name}\""), |html| {
                    let method = self.method.to_lowercase();
                    html.tagged("span", &format!("class=\"method {method}\""), &self.method);
                    html.raw(" ");
                    html.tagged("code", "", self.path);
                });
            });
            html.tagged("p", "", text(&self.given["summary"]));
            html.tagged("pre", "", &example::curl(self, document));
            self.parameters(html);
            if let Some(body) = self.given.get("requestBody") {
                html.tag("h4", "", |html| {
                    html.text("body");
                    if body["required"] != Value::Bool(true) {
                        html.text(" (optional)");
                    }
                });
                for (media, content) in members(&body["content"]) {
                    html.tag("p", "", |html| {
                        html.tagged("code", "", media).raw(": ");
                        schema::form(html, &content["schema"]);
                    });
                }
            }
            self.replies(html);
        });
    }

    fn parameters(&self, html: &mut Html) {
        let parameters = list(&self.given["parameters"]);
        if parameters.is_empty() {
            return;
        }
        html.tagged("h4", "", "parameters");
        html.raw("<dl>");
        for parameter in parameters {
            html.tag("dt", "", |html| {
                html.tagged("code", "", word(&parameter["name"]));
                html.raw(" <small>in the ").text(word(&parameter["in"])).raw("</small> ");
                schema::form(html, &parameter["schema"]);
            });
            html.tagged("dd", "", text(&parameter["description"]));
        }
        html.raw("</dl>");
    }

    fn replies(&self, html: &mut Html) {
        html.tagged("h4", "", "replies");
        html.raw("<dl class=\"replies\">");
        for (status, reply) in members(&self.given["responses"]) {
            html.tag("dt", "", |html| {
                html.tagged("code", "", status);
                for (media, content) in members(&reply["content"]) {
                    html.raw(" <small>").text(media).raw("</small> ");
                    schema::form(html, &content["schema"]);
                }
            });
            html.tagged("dd", "", text(&reply["description"]));
        }
        html.raw("</dl>");
    }
}

/// The members of an object, in order; none if it is not an object.
fn members(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let members = value.as_object().into_iter().flat_map(Map::iter);
    members.map(|(name, member)| (name.as_str(), member))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_has_every_operation_and_schema() {
        let document = crate::openapi();
        let page = page(&document);
        let document: Value = serde_json::from_str(&document).unwrap();
        let mut count = 0;
        for operations in by_tag(&document).values() {
            for operation in operations {
                let name = operation.name();
                assert!(page.contains(&format!("<section id=\"{name}\"")), "{name}");
                assert!(page.contains(&format!("href=\"#{name}\"")), "{name}");
                count += 1;
            }
        }
        assert_eq!(count, crate::routes::table().count());
        for (name, _) in members(&document["components"]["schemas"]) {
            assert!(page.contains(&format!("<section id=\"schema-{name}\"")), "{name}");
        }
    }

    #[test]
    fn internal_links_have_targets() {
        let page = page(&crate::openapi());
        for link in page.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
            assert!(page.contains(&format!("id=\"{link}\"")), "{link}");
        }
    }

    #[test]
    fn page_loads_nothing() {
        let page = page(&crate::openapi());
        for word in ["=\"http", "src=", "<script", "<img", "<link", "@import", "url("] {
            assert!(!page.contains(word), "{word}");
        }
    }

    #[test]
    fn text_of_the_document_is_escaped() {
        let evil = "</style><script>alert(1)</script>";
        let document = serde_json::json!({
            "info": {"title": evil, "description": evil},
            "paths": {evil: {"get": {"operationId": "a\"b", "summary": evil, "tags": [evil],
                "parameters": [{"name": evil, "in": "query", "description": evil, "schema": {"enum": [evil]}}],
                "responses": {"200": {"description": evil}}}}},
            "components": {"schemas": {"S": {"description": evil, "example": evil}}},
        });
        let page = page(&document.to_string());
        assert!(!page.contains("<script"), "{page}");
        assert!(!page.contains("a\"b\""), "{page}");
    }
}
