//! Authorisation: named rules in OpenStack's policy language, with its defaults and the operator's overrides.
//!
//! - `check`: the policy language
//! - `rules`: the rules and their defaults
//!
//! A token of allod has a role and no rules: as on all other routes, readers may read and writers may write. A rule
//! that the operator has set applies to such a token as well.

mod check;
pub(crate) mod rules;

use std::collections::{BTreeMap, HashMap};

use allod_edge::{Identity, Principal, Role};

use check::{PolicyCheck, PolicyTarget};

use crate::error::{PlacementError, PlacementResult};

/// The operator's policy settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicySettings {
    /// If `false`, the role `admin` is enough for every rule, as before Placement's new defaults.
    pub enforce_new_defaults: bool,
    /// If `true`, system-scoped tokens are rejected: all rules have project scope.
    pub enforce_scope: bool,
    /// Rules by name that replace the defaults.
    pub rules: BTreeMap<String, String>,
}

impl Default for PolicySettings {
    fn default() -> PolicySettings {
        PolicySettings { enforce_new_defaults: true, enforce_scope: true, rules: BTreeMap::new() }
    }
}

impl PolicySettings {
    /// Checks that the rules are valid.
    pub fn check(&self) -> Result<(), String> {
        Policy::new(self).map(|_| ())
    }
}

#[derive(Debug)]
pub(crate) struct Policy {
    rules: HashMap<String, PolicyCheck>,
    /// The names of the rules that the operator has set.
    written: Vec<String>,
    enforce_scope: bool,
}

impl Policy {
    /// Fails if a rule is invalid or refers to an unknown rule.
    pub(crate) fn new(settings: &PolicySettings) -> Result<Policy, String> {
        let mut rules = HashMap::new();
        for default in rules::ALL {
            let legacy = !settings.enforce_new_defaults && default.admin_before;
            let check = match legacy {
                true => format!("{} or role:admin", default.check),
                false => default.check.to_owned(),
            };
            rules.insert(default.name.to_owned(), PolicyCheck::read(&check)?);
        }
        for (name, text) in &settings.rules {
            let check =
                PolicyCheck::read(text).map_err(|why| format!("policy rule '{name}': {why}"))?;
            rules.insert(name.clone(), check);
        }
        for (name, check) in &rules {
            if let Some(missing) =
                check.names().into_iter().find(|named| !rules.contains_key(*named))
            {
                return Err(format!(
                    "policy rule '{name}' refers to rule '{missing}', which does not exist"
                ));
            }
        }
        let written = settings.rules.keys().cloned().collect();
        Ok(Policy { rules, written, enforce_scope: settings.enforce_scope })
    }

    /// Returns 403 if the rule does not allow the request. `writes`: it changes something; `project`: the project that
    /// it refers to.
    pub(crate) fn check(
        &self,
        identity: &Identity,
        rule: &str,
        writes: bool,
        project: Option<&str>,
    ) -> PlacementResult<()> {
        match self.allows(identity, rule, writes, project) {
            true => Ok(()),
            false => Err(PlacementError::forbidden(rule)),
        }
    }

    fn allows(&self, identity: &Identity, rule: &str, writes: bool, project: Option<&str>) -> bool {
        match identity {
            Identity::Unrestricted => true,
            Identity::Anonymous => false,
            Identity::Principal(principal) => {
                let scope_fits = principal.system_scope.is_none() || !self.enforce_scope;
                scope_fits && self.holds(rule, principal, project)
            }
            // A token that is limited to some pools has no access here.
            Identity::Token(_) if identity.scope().is_some() => false,
            Identity::Token(_) => match identity.role() {
                Some(role) if self.written.iter().any(|name| name == rule) => {
                    self.holds(rule, &as_principal(identity, role), project)
                }
                Some(role) => role.includes(if writes { Role::Writer } else { Role::Reader }),
                None => false,
            },
        }
    }

    fn holds(&self, rule: &str, principal: &Principal, project: Option<&str>) -> bool {
        let target = PolicyTarget { project, principal };
        self.rules.get(rule).is_some_and(|check| check.holds(principal, &target, &self.rules))
    }
}

/// A token as an OpenStack principal; each role includes the ones before it.
fn as_principal(identity: &Identity, role: Role) -> Principal {
    let names = [(Role::Reader, "reader"), (Role::Writer, "service"), (Role::Admin, "admin")];
    let names = names.into_iter().filter(|(one, _)| role.includes(*one));
    let roles = names.map(|(_, name)| name.to_owned()).collect();
    let user = identity.name().unwrap_or_default().to_owned();
    Principal { user, project: None, roles, system_scope: None }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn principal(roles: &[&str], project: &str, system: Option<&str>) -> Identity {
        Identity::Principal(Arc::new(Principal {
            user: "u".into(),
            project: Some(project.into()),
            roles: roles.iter().map(|&role| role.to_owned()).collect(),
            system_scope: system.map(str::to_owned),
        }))
    }

    #[test]
    fn the_default_rules_are_those_of_openstack() {
        let new = Policy::new(&PolicySettings::default()).unwrap();
        let settings = PolicySettings { enforce_new_defaults: false, ..PolicySettings::default() };
        let old = Policy::new(&settings).unwrap();
        let (list, usages, reshape) =
            ("placement:resource_providers:list", "placement:usages", "placement:reshaper:reshape");
        for (roles, rule, about, by_new, by_old) in [
            (&["admin"][..], list, None, true, true),
            (&["Admin"], list, None, true, true),
            (&["service"], list, None, true, true),
            (&["member", "reader"], list, None, false, false),
            (&[], list, None, false, false),
            (&["reader"], usages, Some("mine"), true, true),
            (&["reader"], usages, Some("other"), false, false),
            (&["reader"], usages, None, false, false),
            (&["admin"], usages, Some("other"), true, true),
            (&["admin"], reshape, None, false, true),
            (&["service"], reshape, None, true, true),
        ] {
            let caller = principal(roles, "mine", None);
            assert_eq!(new.allows(&caller, rule, false, about), by_new, "{roles:?} {rule}");
            assert_eq!(old.allows(&caller, rule, false, about), by_old, "{roles:?} {rule}");
        }
        let system = principal(&["admin"], "mine", Some("all"));
        assert!(new.check(&system, list, false, None).is_err());
        let settings = PolicySettings { enforce_scope: false, ..PolicySettings::default() };
        assert_eq!(Policy::new(&settings).unwrap().check(&system, list, false, None), Ok(()));
        assert!(new.allows(&Identity::Unrestricted, reshape, true, None));
        assert!(!new.allows(&Identity::Anonymous, list, false, None));
    }

    #[test]
    fn operators_can_override_rules() {
        let written = |name: &str, text: &str| {
            let rules = BTreeMap::from([(name.to_owned(), text.to_owned())]);
            Policy::new(&PolicySettings { rules, ..PolicySettings::default() })
        };
        let without_roles = principal(&[], "p", None);
        let policy = written("placement:usages", "@").unwrap();
        assert!(policy.allows(&without_roles, "placement:usages", false, Some("x")));
        let policy = written("admin_or_service_api", "role:janitor").unwrap();
        assert!(policy.allows(
            &principal(&["janitor"], "p", None),
            "placement:traits:list",
            false,
            None
        ));
        assert!(!policy.allows(
            &principal(&["admin"], "p", None),
            "placement:traits:list",
            false,
            None
        ));
        for (text, words) in [
            ("role:a and", "ends too early"),
            ("rule:nothing", "'nothing', which does not exist"),
            ("(role:a", "')' is missing"),
            ("http://elsewhere", "not supported"),
        ] {
            let error = written("placement:usages", text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
