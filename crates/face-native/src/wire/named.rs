//! JSON forms of names and uuids, and of objects whose members are named by the client.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use allod_core::capacity::Uuid;
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde::{Serialize, Serializer};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Schema, SchemaFormat};
use utoipa::{PartialSchema, ToSchema};

/// The name of a pool, a key or an owner in a request.
#[derive(Debug)]
pub(crate) struct NameText(pub Arc<str>);

impl<'de> Deserialize<'de> for NameText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<NameText, D::Error> {
        #[derive(serde::Deserialize)]
        struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
        Text::deserialize(deserializer).map(|Text(text)| NameText(text.into()))
    }
}

/// The uuid of a provider, a consumer or an aggregate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct UuidText(pub Uuid);

impl<'de> Deserialize<'de> for UuidText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<UuidText, D::Error> {
        struct AsUuid;
        impl Visitor<'_> for AsUuid {
            type Value = UuidText;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a uuid such as \"4e8e5957-649f-477b-9e5b-f1f75b21c03c\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<UuidText, E> {
                let wrong = |_| E::invalid_value(de::Unexpected::Str(text), &self);
                text.parse().map(UuidText).map_err(wrong)
            }
        }
        deserializer.deserialize_str(AsUuid)
    }
}

impl Serialize for UuidText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(std::str::from_utf8(&self.0.text()).unwrap_or_default())
    }
}

impl PartialSchema for UuidText {
    fn schema() -> RefOr<Schema> {
        let format = SchemaFormat::Custom("uuid".into());
        ObjectBuilder::new().schema_type(Type::String).format(Some(format)).into()
    }
}

impl ToSchema for UuidText {
    fn name() -> Cow<'static, str> {
        "Uuid".into()
    }
}

/// An object whose members are named by the client, in their order. Repeated names are an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OrderedMap<K, V>(pub Vec<(K, V)>);

impl<K, V> Default for OrderedMap<K, V> {
    fn default() -> OrderedMap<K, V> {
        OrderedMap(Vec::new())
    }
}

impl<'de, K, V> Deserialize<'de> for OrderedMap<K, V>
where
    K: Deserialize<'de> + Ord + Clone,
    V: Deserialize<'de>,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OrderedMap<K, V>, D::Error> {
        struct AsOrderedMap<K, V>(PhantomData<(K, V)>);
        impl<'de, K, V> Visitor<'de> for AsOrderedMap<K, V>
        where
            K: Deserialize<'de> + Ord + Clone,
            V: Deserialize<'de>,
        {
            type Value = OrderedMap<K, V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs: Vec<(K, V)> = Vec::new();
                let mut seen = BTreeSet::new();
                while let Some((name, value)) = map.next_entry::<K, V>()? {
                    if !seen.insert(name.clone()) {
                        return Err(de::Error::custom("a name is repeated"));
                    }
                    pairs.push((name, value));
                }
                Ok(OrderedMap(pairs))
            }
        }
        deserializer.deserialize_map(AsOrderedMap(PhantomData))
    }
}

impl<K: Serialize, V: Serialize> Serialize for OrderedMap<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_order_and_repeated_names_are_refused() {
        let uuid = "4e8e5957-649f-477b-9e5b-f1f75b21c03c";
        let bare = uuid.replace('-', "").to_uppercase();
        let pairs: OrderedMap<String, u64> = serde_json::from_str(r#"{"b":1,"a":2}"#).unwrap();
        assert_eq!(pairs.0, [("b".to_owned(), 1), ("a".to_owned(), 2)]);
        assert_eq!(serde_json::to_string(&pairs).unwrap(), r#"{"b":1,"a":2}"#);
        let one: OrderedMap<UuidText, u64> =
            serde_json::from_str(&format!("{{\"{bare}\":1}}")).unwrap();
        assert_eq!(serde_json::to_string(&one).unwrap(), format!("{{\"{uuid}\":1}}"));
        let twice = format!("{{\"{uuid}\":1,\"{bare}\":2}}");
        let error =
            serde_json::from_str::<OrderedMap<UuidText, u64>>(&twice).unwrap_err().to_string();
        assert!(error.starts_with("a name is repeated"), "{error}");
        let error = serde_json::from_str::<UuidText>("\"4e8e\"").unwrap_err().to_string();
        assert!(error.contains("a uuid such as"), "{error}");
    }
}
