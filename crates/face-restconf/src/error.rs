//! RESTCONF errors: `error-type`, `error-tag`, message and HTTP status.

use http::StatusCode;

/// The `error-type`: the layer that reports the error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorType {
    Transport,
    Rpc,
    Protocol,
    Application,
}

/// The `error-tag` values of RFC 8040, section 7.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorTag {
    InUse,
    InvalidValue,
    TooBig,
    MissingAttribute,
    BadAttribute,
    UnknownAttribute,
    BadElement,
    MissingElement,
    UnknownElement,
    UnknownNamespace,
    AccessDenied,
    LockDenied,
    ResourceDenied,
    DataExists,
    DataMissing,
    OperationNotSupported,
    OperationFailed,
    PartialOperation,
    MalformedMessage,
}

impl ErrorType {
    pub fn name(self) -> &'static str {
        match self {
            ErrorType::Transport => "transport",
            ErrorType::Rpc => "rpc",
            ErrorType::Protocol => "protocol",
            ErrorType::Application => "application",
        }
    }
}

impl ErrorTag {
    pub fn name(self) -> &'static str {
        match self {
            ErrorTag::InUse => "in-use",
            ErrorTag::InvalidValue => "invalid-value",
            ErrorTag::TooBig => "too-big",
            ErrorTag::MissingAttribute => "missing-attribute",
            ErrorTag::BadAttribute => "bad-attribute",
            ErrorTag::UnknownAttribute => "unknown-attribute",
            ErrorTag::BadElement => "bad-element",
            ErrorTag::MissingElement => "missing-element",
            ErrorTag::UnknownElement => "unknown-element",
            ErrorTag::UnknownNamespace => "unknown-namespace",
            ErrorTag::AccessDenied => "access-denied",
            ErrorTag::LockDenied => "lock-denied",
            ErrorTag::ResourceDenied => "resource-denied",
            ErrorTag::DataExists => "data-exists",
            ErrorTag::DataMissing => "data-missing",
            ErrorTag::OperationNotSupported => "operation-not-supported",
            ErrorTag::OperationFailed => "operation-failed",
            ErrorTag::PartialOperation => "partial-operation",
            ErrorTag::MalformedMessage => "malformed-message",
        }
    }

    /// The default HTTP status. The settings may override it for missing data.
    pub fn status(self) -> StatusCode {
        match self {
            ErrorTag::InUse
            | ErrorTag::LockDenied
            | ErrorTag::ResourceDenied
            | ErrorTag::DataExists
            | ErrorTag::DataMissing => StatusCode::CONFLICT,
            ErrorTag::InvalidValue
            | ErrorTag::MissingAttribute
            | ErrorTag::BadAttribute
            | ErrorTag::UnknownAttribute
            | ErrorTag::BadElement
            | ErrorTag::MissingElement
            | ErrorTag::UnknownElement
            | ErrorTag::UnknownNamespace
            | ErrorTag::MalformedMessage => StatusCode::BAD_REQUEST,
            ErrorTag::TooBig => StatusCode::PAYLOAD_TOO_LARGE,
            ErrorTag::AccessDenied => StatusCode::FORBIDDEN,
            ErrorTag::OperationNotSupported => StatusCode::NOT_IMPLEMENTED,
            ErrorTag::OperationFailed | ErrorTag::PartialOperation => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
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
    pub info: Option<String>,
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
            info: None,
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

    /// A request that the protocol layer refuses as `operation-not-supported`.
    pub fn not_supported(message: impl Into<String>) -> RestconfError {
        RestconfError::protocol(ErrorTag::OperationNotSupported, message)
    }

    pub fn at_path(mut self, path: impl Into<String>) -> RestconfError {
        self.path = Some(path.into());
        self
    }

    pub fn with_info(mut self, info: impl Into<String>) -> RestconfError {
        self.info = Some(info.into());
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

/// A request that the protocol layer refuses as `invalid-value`.
pub fn invalid_value(message: impl Into<String>) -> RestconfError {
    RestconfError::protocol(ErrorTag::InvalidValue, message)
}
