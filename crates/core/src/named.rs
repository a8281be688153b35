//! Enums whose variants have names.

/// Defines an enum with the name of each variant, as interfaces write it, and the constants and functions that follow:
/// all variants in order, the name of a variant, and the variant of a name.
macro_rules! named {
    (
        $(#[$about:meta])*
        pub enum $type:ident { $($(#[$of:meta])* $variant:ident = $name:literal,)+ }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $type {
            $($(#[$of])* $variant,)+
        }

        impl $type {
            pub const ALL: [$type; [$($name),+].len()] = [$($type::$variant),+];

            pub fn name(self) -> &'static str {
                match self {
                    $($type::$variant => $name,)+
                }
            }

            pub fn from_name(name: &str) -> Option<$type> {
                $type::ALL.into_iter().find(|one| one.name() == name)
            }
        }
    };
}
pub(crate) use named;
