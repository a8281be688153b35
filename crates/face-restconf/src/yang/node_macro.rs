//! A macro for structs of schema nodes, which a model looks up once when it starts.

/// Defines a struct of [`NodeId`](crate::yang::NodeId)s by their paths relative to a base, and optional sets of its own. `find`
/// looks all of them up; its error names the missing path.
macro_rules! node_set {
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($field:ident: $path:literal,)*
        $(@ $set:ident: $ty:ty = $base:literal,)*
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone)]
        $vis struct $name {
            $(pub $field: $crate::yang::NodeId,)*
            $(pub $set: $ty,)*
        }

        impl $name {
            pub fn find(schema: &$crate::yang::Schema, base: &str) -> Result<$name, String> {
                Ok($name {
                    $($field: schema.require(&format!("{base}{}", $path))?,)*
                    $($set: <$ty>::find(schema, &format!("{base}{}", $base))?,)*
                })
            }
        }
    };
}

pub(crate) use node_set;
