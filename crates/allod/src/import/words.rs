//! How a Placement says no.

use serde::Deserialize;

use crate::cli::style;

/// The code and the words of a refusal, in whichever of the forms that a Placement has.
pub fn words(body: &[u8]) -> (String, String) {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct No {
        errors: Vec<Fault>,
        #[serde(flatten)]
        plain: Fault,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Fault {
        code: String,
        detail: String,
        message: String,
        title: String,
    }
    let no: No = serde_json::from_slice(body).unwrap_or_default();
    let fault = no.errors.into_iter().next().unwrap_or(no.plain);
    let said = [&fault.detail, &fault.message, &fault.title];
    let said = said.into_iter().find(|text| !text.is_empty()).map_or("", String::as_str);
    // The first paragraph says what the status says.
    let said = match said.split_once("\n\n") {
        Some((_, rest)) if !rest.trim().is_empty() => rest.trim(),
        _ => said.trim(),
    };
    let said = if said.is_empty() { "(no words)" } else { said };
    (fault.code, style::plain(said))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_understood_in_every_form() {
        for (body, code, said) in [
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
            ("<html>", "", "(no words)"),
        ] {
            assert_eq!(words(body.as_bytes()), (code.to_owned(), said.to_owned()));
        }
    }
}
