//! The JSON forms of requests and replies. `from_wire` and `to_wire` translate between them and the core's types.

/// Defines the JSON form of an enum of the core, with the same variants.
macro_rules! wire_enum {
    ($(#[$about:meta])* $name:ident for $core:ident { $($(#[$rename:meta])* $variant:ident),* $(,)? }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, utoipa::ToSchema)]
        #[serde(rename_all = "snake_case")]
        pub(crate) enum $name {
            $($(#[$rename])* $variant,)*
        }

        impl From<$name> for $core {
            fn from(name: $name) -> $core {
                match name {
                    $($name::$variant => $core::$variant,)*
                }
            }
        }
    };
}

mod answer;
mod ask;
mod authority;
mod candidates;
mod capacity;
mod change;
mod lookup;
mod named;
mod outbox;
mod reconcile;
mod scalar;

pub(crate) use answer::*;
pub(crate) use ask::*;
pub(crate) use authority::*;
pub(crate) use candidates::*;
pub(crate) use capacity::*;
pub use change::Change;
pub(crate) use change::*;
pub(crate) use lookup::*;
pub(crate) use named::*;
pub(crate) use outbox::*;
pub(crate) use reconcile::*;
pub(crate) use scalar::*;
