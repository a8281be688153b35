//! Who may do what: rules by name in OpenStack's policy language, with its defaults, and what an operator says instead.
//!
//! - `check`: the language
//! - `rules`: the rules and their defaults
//!
//! A token of allod's own has a role and no rules: it reads as a reader and writes as a writer, as on all other routes,
//! unless the operator has written a rule, which then counts for it as well.

mod check;
pub(crate) mod rules;

use std::collections::{BTreeMap, HashMap};

use allod_edge::{Identity, Principal, Role};

use check::{Check, Target};

use crate::fault::Fault;

/// What an operator says about policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicySettings {
    /// Without it, an admin may do everything, as in the old days.
    pub enforce_new_defaults: bool,
    /// With it, a token for the whole system is of no use: all rules are about projects.
    pub enforce_scope: bool,
    /// Rules by name, in place of the defaults.
    pub rules: BTreeMap<String, String>,
}

impl Default for PolicySettings {
    fn default() -> PolicySettings {
        PolicySettings { enforce_new_defaults: true, enforce_scope: true, rules: BTreeMap::new() }
    }
}

impl PolicySettings {
    /// Whether the rules can be understood, and if not why.
    pub fn check(&self) -> Result<(), String> {
        Policy::new(self).map(|_| ())
    }
}

#[derive(Debug)]
pub(crate) struct Policy {
    rules: HashMap<String, Check>,
    /// Names of the rules that the operator wrote.
    written: Vec<String>,
    enforce_scope: bool,
}

impl Policy {
    /// Refuses rules that cannot be understood, or that name a rule that is not there.
    pub(crate) fn new(settings: &PolicySettings) -> Result<Policy, String> {
        let mut rules = HashMap::new();
        for default in rules::ALL {
            let legacy = !settings.enforce_new_defaults && default.admin_before;
            let check = match legacy {
                true => format!("{} or role:admin", default.check),
                false => default.check.to_owned(),
            };
            rules.insert(default.name.to_owned(), Check::read(&check)?);
        }
        for (name, text) in &settings.rules {
            let check = Check::read(text).map_err(|why| format!("the rule '{name}': {why}"))?;
            rules.insert(name.clone(), check);
        }
        for (name, check) in &rules {
            if let Some(missing) =
                check.names().into_iter().find(|named| !rules.contains_key(*named))
            {
                return Err(format!(
                    "the rule '{name}' is about a rule '{missing}', which is not there"
                ));
            }
        }
        let written = settings.rules.keys().cloned().collect();
        Ok(Policy { rules, written, enforce_scope: settings.enforce_scope })
    }

    /// Refuses what somebody may not do. `writes`: it changes something; `project`: whose it is, if it is about a project.
    pub(crate) fn check(
        &self,
        identity: &Identity,
        rule: &str,
        writes: bool,
        project: Option<&str>,
    ) -> Result<(), Fault> {
        match self.allows(identity, rule, writes, project) {
            true => Ok(()),
            false => Err(Fault::forbidden(rule)),
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
            // A token for some pools is for nothing else.
            Identity::Token(_) if identity.scope().is_some() => false,
            Identity::Token(_) => match identity.role() {
                Some(role) if self.written.iter().any(|name| name == rule) => {
                    self.holds(rule, &as_principal(identity, role), project)
                }
                Some(role) => role >= if writes { Role::Writer } else { Role::Reader },
                None => false,
            },
        }
    }

    fn holds(&self, rule: &str, principal: &Principal, project: Option<&str>) -> bool {
        let target = Target { project, principal };
        self.rules.get(rule).is_some_and(|check| check.holds(principal, &target, &self.rules))
    }
}

/// A token in OpenStack's terms: each role may all that those before it may.
fn as_principal(identity: &Identity, role: Role) -> Principal {
    let names = ["reader", "service", "admin"];
    let roles = names[..=role as usize].iter().map(|&name| name.to_owned()).collect();
    let user = identity.name().unwrap_or_default().to_owned();
    Principal { user, project: None, roles, system_scope: None }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn somebody(roles: &[&str], project: &str, system: Option<&str>) -> Identity {
        Identity::Principal(Arc::new(Principal {
            user: "u".into(),
            project: Some(project.into()),
            roles: roles.iter().map(|&role| role.to_owned()).collect(),
            system_scope: system.map(str::to_owned),
        }))
    }

    #[test]
    fn the_defaults_are_openstacks() {
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
            let who = somebody(roles, "mine", None);
            assert_eq!(new.allows(&who, rule, false, about), by_new, "{roles:?} {rule}");
            assert_eq!(old.allows(&who, rule, false, about), by_old, "{roles:?} {rule}");
        }
        let system = somebody(&["admin"], "mine", Some("all"));
        assert!(new.check(&system, list, false, None).is_err());
        let settings = PolicySettings { enforce_scope: false, ..PolicySettings::default() };
        assert_eq!(Policy::new(&settings).unwrap().check(&system, list, false, None), Ok(()));
        assert!(new.allows(&Identity::Unrestricted, reshape, true, None));
        assert!(!new.allows(&Identity::Anonymous, list, false, None));
    }

    #[test]
    fn an_operator_may_say_something_else() {
        let written = |name: &str, text: &str| {
            let rules = BTreeMap::from([(name.to_owned(), text.to_owned())]);
            Policy::new(&PolicySettings { rules, ..PolicySettings::default() })
        };
        let nobody = somebody(&[], "p", None);
        let policy = written("placement:usages", "@").unwrap();
        assert!(policy.allows(&nobody, "placement:usages", false, Some("x")));
        let policy = written("admin_or_service_api", "role:janitor").unwrap();
        assert!(policy.allows(
            &somebody(&["janitor"], "p", None),
            "placement:traits:list",
            false,
            None
        ));
        assert!(!policy.allows(
            &somebody(&["admin"], "p", None),
            "placement:traits:list",
            false,
            None
        ));
        for (text, words) in [
            ("role:a and", "ends too early"),
            ("rule:nothing", "'nothing', which is not there"),
            ("(role:a", "')' is missing"),
            ("http://elsewhere", "asks another server"),
        ] {
            let error = written("placement:usages", text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
