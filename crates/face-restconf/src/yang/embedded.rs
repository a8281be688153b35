//! The modules that the protocol serves or imports. The modules of a model are with the model.

/// File names and texts, for [`super::Schema::compile`].
pub const PROTOCOL: &[(&str, &str)] = &[
    ("ietf-datastores.yang", include_str!("../../yang/ietf-datastores.yang")),
    ("ietf-inet-types.yang", include_str!("../../yang/ietf-inet-types.yang")),
    ("ietf-restconf.yang", include_str!("../../yang/ietf-restconf.yang")),
    ("ietf-restconf-monitoring.yang", include_str!("../../yang/ietf-restconf-monitoring.yang")),
    ("ietf-yang-library.yang", include_str!("../../yang/ietf-yang-library.yang")),
    ("ietf-yang-patch.yang", include_str!("../../yang/ietf-yang-patch.yang")),
    ("ietf-yang-types.yang", include_str!("../../yang/ietf-yang-types.yang")),
];
