//! Conversion between the types of the core and their stored forms.

use std::sync::Arc;

/// A stored form of a `T` of the core. `'a`: how long the form borrows texts from the value, or from the bytes that it
/// was read from.
pub(crate) trait StoredForm<'a, T> {
    fn store(value: &'a T) -> Self;
    fn load(self) -> T;
}

/// Defines stored structs that have the fields of a type of the core, each in its stored form. A struct that differs
/// from the type in more than that implements [`StoredForm`] itself.
macro_rules! stored_structs {
    ($(
        $(#[$about:meta])*
        $stored:ident $(<$life:lifetime>)? of $plain:ident {
            $($(#[$of:meta])* $field:ident: $type:ty,)+
        }
    )+) => {$(
        $(#[$about])*
        #[derive(Debug, serde::Serialize, serde::Deserialize)]
        pub(crate) struct $stored $(<$life>)? {
            $($(#[$of])* $field: $type,)+
        }

        impl<'a> $crate::stored::form::StoredForm<'a, $plain> for $stored $(<$life>)? {
            fn store(value: &'a $plain) -> Self {
                $stored { $($field: $crate::stored::form::StoredForm::store(&value.$field),)+ }
            }

            fn load(self) -> $plain {
                $plain { $($field: $crate::stored::form::StoredForm::load(self.$field),)+ }
            }
        }
    )+};
}
pub(crate) use stored_structs;

/// Types that are stored as they are.
macro_rules! stored_as_is {
    ($($type:ty),+) => {$(
        impl StoredForm<'_, $type> for $type {
            fn store(value: &$type) -> $type {
                *value
            }

            fn load(self) -> $type {
                self
            }
        }
    )+};
}

stored_as_is!(bool, u8, u16, u32, u64, u128, i64, [u8; 32]);

impl<'a> StoredForm<'a, Arc<str>> for &'a str {
    fn store(value: &'a Arc<str>) -> &'a str {
        value
    }

    fn load(self) -> Arc<str> {
        self.into()
    }
}

impl<'a, T, S: StoredForm<'a, T>> StoredForm<'a, Option<T>> for Option<S> {
    fn store(value: &'a Option<T>) -> Option<S> {
        value.as_ref().map(S::store)
    }

    fn load(self) -> Option<T> {
        self.map(S::load)
    }
}

impl<'a, T, S: StoredForm<'a, T>> StoredForm<'a, Vec<T>> for Vec<S> {
    fn store(value: &'a Vec<T>) -> Vec<S> {
        value.iter().map(S::store).collect()
    }

    fn load(self) -> Vec<T> {
        self.into_iter().map(S::load).collect()
    }
}

impl<'a, T, U, S: StoredForm<'a, T>, R: StoredForm<'a, U>> StoredForm<'a, (T, U)> for (S, R) {
    fn store(value: &'a (T, U)) -> (S, R) {
        (S::store(&value.0), R::store(&value.1))
    }

    fn load(self) -> (T, U) {
        (self.0.load(), self.1.load())
    }
}
