//! A no, as RESTCONF tells it.

use http::StatusCode;

/// Which layer says no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    Transport,
    Rpc,
    Protocol,
    Application,
}

/// The error tags of RFC 8040, section 7.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tag {
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

impl Layer {
    pub fn name(self) -> &'static str {
        match self {
            Layer::Transport => "transport",
            Layer::Rpc => "rpc",
            Layer::Protocol => "protocol",
            Layer::Application => "application",
        }
    }
}

impl Tag {
    pub fn name(self) -> &'static str {
        match self {
            Tag::InUse => "in-use",
            Tag::InvalidValue => "invalid-value",
            Tag::TooBig => "too-big",
            Tag::MissingAttribute => "missing-attribute",
            Tag::BadAttribute => "bad-attribute",
            Tag::UnknownAttribute => "unknown-attribute",
            Tag::BadElement => "bad-element",
            Tag::MissingElement => "missing-element",
            Tag::UnknownElement => "unknown-element",
            Tag::UnknownNamespace => "unknown-namespace",
            Tag::AccessDenied => "access-denied",
            Tag::LockDenied => "lock-denied",
            Tag::ResourceDenied => "resource-denied",
            Tag::DataExists => "data-exists",
            Tag::DataMissing => "data-missing",
            Tag::OperationNotSupported => "operation-not-supported",
            Tag::OperationFailed => "operation-failed",
            Tag::PartialOperation => "partial-operation",
            Tag::MalformedMessage => "malformed-message",
        }
    }

    /// The status that goes with it, unless a fault says otherwise. That of missing data is for settings to say.
    pub fn status(self) -> StatusCode {
        match self {
            Tag::InUse
            | Tag::LockDenied
            | Tag::ResourceDenied
            | Tag::DataExists
            | Tag::DataMissing => StatusCode::CONFLICT,
            Tag::InvalidValue
            | Tag::MissingAttribute
            | Tag::BadAttribute
            | Tag::UnknownAttribute
            | Tag::BadElement
            | Tag::MissingElement
            | Tag::UnknownElement
            | Tag::UnknownNamespace
            | Tag::MalformedMessage => StatusCode::BAD_REQUEST,
            Tag::TooBig => StatusCode::PAYLOAD_TOO_LARGE,
            Tag::AccessDenied => StatusCode::FORBIDDEN,
            Tag::OperationNotSupported => StatusCode::NOT_IMPLEMENTED,
            Tag::OperationFailed | Tag::PartialOperation => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// One error of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub layer: Layer,
    pub tag: Tag,
    pub message: String,
    /// Where in the data, spelled as an instance identifier.
    pub path: Option<String>,
    pub info: Option<String>,
    /// Instead of the one that follows from the tag.
    pub status: Option<StatusCode>,
    /// The position of the journal that the answer reflects.
    pub position: Option<u64>,
    /// Which edit of the request it is about, counted from 0, where there are several.
    pub edit: Option<usize>,
    /// After how many seconds the same request may be worth sending again.
    pub retry_after_s: Option<u32>,
}

impl Fault {
    pub fn new(layer: Layer, tag: Tag, message: impl Into<String>) -> Fault {
        Fault {
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

    pub fn protocol(tag: Tag, message: impl Into<String>) -> Fault {
        Fault::new(Layer::Protocol, tag, message)
    }

    pub fn application(tag: Tag, message: impl Into<String>) -> Fault {
        Fault::new(Layer::Application, tag, message)
    }

    pub fn at_path(mut self, path: impl Into<String>) -> Fault {
        self.path = Some(path.into());
        self
    }

    pub fn with_info(mut self, info: impl Into<String>) -> Fault {
        self.info = Some(info.into());
        self
    }

    pub fn of_edit(mut self, edit: usize) -> Fault {
        self.edit = Some(edit);
        self
    }

    pub fn at_position(mut self, position: u64) -> Fault {
        self.position = Some(position);
        self
    }

    pub fn retry_after(mut self, seconds: u32) -> Fault {
        self.retry_after_s = Some(seconds);
        self
    }

    pub fn with_status(mut self, status: StatusCode) -> Fault {
        self.status = Some(status);
        self
    }
}
