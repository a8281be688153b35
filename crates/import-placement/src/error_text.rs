//! The error bodies of Placement.

use serde::Deserialize;

/// The code and the text of an error, in any of the forms that Placement and its middleware use.
pub fn error_text(body: &[u8]) -> (String, String) {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct ErrorBody {
        errors: Vec<ErrorEntry>,
        #[serde(flatten)]
        plain: ErrorEntry,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct ErrorEntry {
        code: String,
        detail: String,
        message: String,
        title: String,
    }
    let body: ErrorBody = serde_json::from_slice(body).unwrap_or_default();
    let entry = body.errors.into_iter().next().unwrap_or(body.plain);
    let texts = [&entry.detail, &entry.message, &entry.title];
    let text = texts.into_iter().find(|text| !text.is_empty()).map_or("", String::as_str);
    // The first paragraph only repeats the status.
    let text = match text.split_once("\n\n") {
        Some((_, rest)) if !rest.trim().is_empty() => rest.trim(),
        _ => text.trim(),
    };
    let text = if text.is_empty() { "(no error text)" } else { text };
    (entry.code, text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_an_error_is_understood() {
        for (body, code, text) in [
            (
                r#"{"errors":[{"status":409,"title":"Conflict","detail":"There was a conflict.\n\n it is full  ","code":"placement.undefined_code"}]}"#,
                "placement.undefined_code",
                "it is full",
            ),
            (
                r#"{"message":"no token","code":"401 Unauthorized","title":"Unauthorized"}"#,
                "401 Unauthorized",
                "no token",
            ),
            (r#"{"message":"who are you?\n\n\n"}"#, "", "who are you?"),
            (r#"{"title":"too many","code":"busy","status":503}"#, "busy", "too many"),
            ("<html>", "", "(no error text)"),
        ] {
            assert_eq!(error_text(body.as_bytes()), (code.to_owned(), text.to_owned()));
        }
    }
}
