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

    pub fn with_status(mut self, status: StatusCode) -> Fault {
        self.status = Some(status);
        self
    }
}
