//! Placement's policy rules and their defaults.

/// A rule and its default.
pub(crate) struct PolicyRule {
    pub name: &'static str,
    pub check: &'static str,
    /// Whether `role:admin` was enough before the new defaults.
    pub admin_before: bool,
}

const fn base(name: &'static str, check: &'static str, admin_before: bool) -> PolicyRule {
    PolicyRule { name, check, admin_before }
}

const fn admin_or_service(name: &'static str) -> PolicyRule {
    base(name, "rule:admin_or_service_api", false)
}

pub(crate) static ALL: &[PolicyRule] = &[
    base("admin_api", "role:admin", false),
    base("service_api", "role:service", true),
    base("admin_or_service_api", "role:admin or role:service", true),
    base("project_reader_api", "role:reader and project_id:%(project_id)s", true),
    base(
        "admin_or_project_reader_or_service_api",
        "role:admin or rule:project_reader_api or role:service",
        true,
    ),
    admin_or_service("placement:resource_providers:list"),
    admin_or_service("placement:resource_providers:create"),
    admin_or_service("placement:resource_providers:show"),
    admin_or_service("placement:resource_providers:update"),
    admin_or_service("placement:resource_providers:delete"),
    admin_or_service("placement:resource_providers:inventories:list"),
    admin_or_service("placement:resource_providers:inventories:create"),
    admin_or_service("placement:resource_providers:inventories:show"),
    admin_or_service("placement:resource_providers:inventories:update"),
    admin_or_service("placement:resource_providers:inventories:delete"),
    admin_or_service("placement:resource_providers:aggregates:list"),
    admin_or_service("placement:resource_providers:aggregates:update"),
    admin_or_service("placement:resource_providers:traits:list"),
    admin_or_service("placement:resource_providers:traits:update"),
    admin_or_service("placement:resource_providers:traits:delete"),
    admin_or_service("placement:resource_providers:allocations:list"),
    admin_or_service("placement:resource_providers:usages"),
    admin_or_service("placement:resource_classes:list"),
    admin_or_service("placement:resource_classes:create"),
    admin_or_service("placement:resource_classes:show"),
    admin_or_service("placement:resource_classes:update"),
    admin_or_service("placement:resource_classes:delete"),
    admin_or_service("placement:traits:list"),
    admin_or_service("placement:traits:show"),
    admin_or_service("placement:traits:update"),
    admin_or_service("placement:traits:delete"),
    admin_or_service("placement:allocations:list"),
    admin_or_service("placement:allocations:manage"),
    admin_or_service("placement:allocations:update"),
    admin_or_service("placement:allocations:delete"),
    admin_or_service("placement:allocation_candidates:list"),
    base("placement:usages", "rule:admin_or_project_reader_or_service_api", false),
    base("placement:reshaper:reshape", "rule:service_api", false),
];
