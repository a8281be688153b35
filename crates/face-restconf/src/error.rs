//! RESTCONF errors: `error-type`, `error-tag`, message and HTTP status.

use http::StatusCode;

use crate::codec::Element;

/// The `error-type`: the layer that reports the error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorType {
    Transport,
    Protocol,
    Application,
}

/// The `error-tag` values of RFC 8040, section 7, that the server uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorTag {
    InUse,
    InvalidValue,
    TooBig,
    BadAttribute,
    BadElement,
    MissingElement,
    UnknownElement,
    AccessDenied,
    ResourceDenied,
    DataExists,
    DataMissing,
    OperationNotSupported,
    OperationFailed,
    MalformedMessage,
}

impl ErrorType {
    pub fn name(self) -> &'static str {
        match self {
            ErrorType::Transport => "transport",
            ErrorType::Protocol => "protocol",
            ErrorType::Application => "application",
        }
    }
}

impl ErrorTag {
    pub fn name(self) -> &'static str {
        self.name_and_status().0
    }

    /// The default HTTP status. The settings may override it for missing data.
    pub fn status(self) -> StatusCode {
        self.name_and_status().1
    }

    fn name_and_status(self) -> (&'static str, StatusCode) {
        match self {
            ErrorTag::InUse => ("in-use", StatusCode::CONFLICT),
            ErrorTag::InvalidValue => ("invalid-value", StatusCode::BAD_REQUEST),
            ErrorTag::TooBig => ("too-big", StatusCode::PAYLOAD_TOO_LARGE),
            ErrorTag::BadAttribute => ("bad-attribute", StatusCode::BAD_REQUEST),
            ErrorTag::BadElement => ("bad-element", StatusCode::BAD_REQUEST),
            ErrorTag::MissingElement => ("missing-element", StatusCode::BAD_REQUEST),
            ErrorTag::UnknownElement => ("unknown-element", StatusCode::BAD_REQUEST),
            ErrorTag::AccessDenied => ("access-denied", StatusCode::FORBIDDEN),
            ErrorTag::ResourceDenied => ("resource-denied", StatusCode::CONFLICT),
            ErrorTag::DataExists => ("data-exists", StatusCode::CONFLICT),
            ErrorTag::DataMissing => ("data-missing", StatusCode::CONFLICT),
            ErrorTag::OperationNotSupported => {
                ("operation-not-supported", StatusCode::NOT_IMPLEMENTED)
            }
            ErrorTag::OperationFailed => ("operation-failed", StatusCode::INTERNAL_SERVER_ERROR),
            ErrorTag::MalformedMessage => ("malformed-message", StatusCode::BAD_REQUEST),
        }
    }
}

/// The result of what can fail with a [`RestconfError`].
pub type Result<T, E = RestconfError> = std::result::Result<T, E>;

/// One `error` of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestconfError {
    pub layer: ErrorType,
    pub tag: ErrorTag,
    pub message: String,
    /// The `error-path`, as an instance identifier.
    pub path: Option<String>,
    /// Overrides the status of the tag.
    pub status: Option<StatusCode>,
    /// The journal position that the reply reflects.
    pub position: Option<u64>,
    /// The index of the edit that caused the error, if the request has several.
    pub edit: Option<usize>,
    /// When the client may retry.
    pub retry_after_s: Option<u32>,
}

impl RestconfError {
    pub fn new(layer: ErrorType, tag: ErrorTag, message: impl Into<String>) -> RestconfError {
        RestconfError {
            layer,
            tag,
            message: message.into(),
            path: None,
            status: None,
            position: None,
            edit: None,
            retry_after_s: None,
        }
    }

    pub fn protocol(tag: ErrorTag, message: impl Into<String>) -> RestconfError {
        RestconfError::new(ErrorType::Protocol, tag, message)
    }

    pub fn application(tag: ErrorTag, message: impl Into<String>) -> RestconfError {
        RestconfError::new(ErrorType::Application, tag, message)
    }

    /// A value that the model refuses.
    pub fn wrong_value(message: impl Into<String>) -> RestconfError {
        RestconfError::application(ErrorTag::InvalidValue, message)
    }

    /// Data that the model needs, and that the request lacks.
    pub fn missing_element(message: impl Into<String>) -> RestconfError {
        RestconfError::application(ErrorTag::MissingElement, message)
    }

    /// A request that the protocol layer refuses as `operation-not-supported`.
    pub fn not_supported(message: impl Into<String>) -> RestconfError {
        RestconfError::protocol(ErrorTag::OperationNotSupported, message)
    }

    pub fn at_path(mut self, path: impl Into<String>) -> RestconfError {
        self.path = Some(path.into());
        self
    }

    pub fn of_edit(mut self, edit: usize) -> RestconfError {
        self.edit = Some(edit);
        self
    }

    pub fn at_position(mut self, position: u64) -> RestconfError {
        self.position = Some(position);
        self
    }

    pub fn retry_after(mut self, seconds: u32) -> RestconfError {
        self.retry_after_s = Some(seconds);
        self
    }

    pub fn with_status(mut self, status: StatusCode) -> RestconfError {
        self.status = Some(status);
        self
    }
}

impl RestconfError {
    /// The content of `errors`. In RFC 8040, `error-info` is a tree of nodes and not text, so it is written in
    /// OpenDaylight's form only.
    pub(crate) fn errors(&self, rfc: bool) -> Element<'_> {
        let mut error = vec![
            ("error-type", Element::text(self.layer.name())),
            ("error-tag", Element::text(self.tag.name())),
        ];
        error.extend(self.path.as_deref().map(|path| ("error-path", Element::text(path))));
        error.push(("error-message", Element::text(&*self.message)));
        if !rfc {
            error.push(("error-info", Element::text(&*self.message)));
        }
        Element::Inner(vec![("error", Element::List(vec![Element::Inner(error)]))])
    }
}

/// A request that the protocol layer refuses as `invalid-value`.
pub fn invalid_value(message: impl Into<String>) -> RestconfError {
    RestconfError::protocol(ErrorTag::InvalidValue, message)
}
