//! A curl command for each operation.

use serde_json::Value;

use super::DocOperation;
use super::html::{list, text};

/// A shell command that sends the request.
pub(super) fn curl(operation: &DocOperation<'_>, document: &Value) -> String {
    let mut path = operation.path.to_owned();
    let mut query = String::new();
    for parameter in list(&operation.given["parameters"]) {
        let name = text(&parameter["name"]);
        let example = text(&parameter["schema"]["examples"][0]);
        match text(&parameter["in"]) {
            "path" => path = path.replace(&format!("{{{name}}}"), example),
            // One query parameter is enough for an example.
            "query" if query.is_empty() && !example.is_empty() => {
                query = format!("?{name}={example}");
            }
            _ => {}
        }
    }
    let mut line = String::from("curl");
    if operation.method != "GET" {
        line.push_str(&format!(" -X {}", operation.method));
    }
    line.push_str(&format!(" 'localhost:8778{path}{query}'"));
    if let Some(example) = body(operation, document) {
        line.push_str(&format!(" \\\n  -H 'content-type: application/json' -d '{example}'"));
    }
    line
}

fn body<'a>(operation: &DocOperation<'_>, document: &'a Value) -> Option<&'a Value> {
    let schema = &operation.given["requestBody"]["content"]["application/json"]["schema"];
    let name = schema["$ref"].as_str()?.rsplit('/').next()?;
    document["components"]["schemas"][name].get("example")
}

#[cfg(test)]
mod tests {
    use super::super::by_tag;
    use super::*;

    #[test]
    fn every_operation_has_a_complete_example() {
        let document: Value = serde_json::from_str(&crate::openapi()).unwrap();
        let mut seen = Vec::new();
        for operation in by_tag(&document).values().flatten() {
            let line = curl(operation, &document);
            let path = line.split(" -d ").next().unwrap_or_default();
            assert!(!path.contains("{pool}") && !path.contains("//"), "{line}");
            assert_eq!(
                operation.given.get("requestBody").is_some(),
                line.contains(" -d "),
                "{line}"
            );
            seen.push(line);
        }
        assert!(seen.contains(&"curl 'localhost:8778/v1/pools/vlans/claims/blue'".to_owned()));
        assert!(seen.iter().any(|line| line.contains("-X PUT 'localhost:8778/v1/pools/vlans'")));
    }
}
