"""The configurations that upstream's tests need, as settings of each kind of server.

A test file names fixtures; a fixture that is not in :data:`BY_FIXTURE` needs the default profile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List, Sequence

BY_FIXTURE = {
    "CORSFixture": "cors",
    "OpenPolicyFixture": "open",
    "SecureRBACPolicyFixture": "secure",
    "LegacyRBACPolicyFixture": "legacy",
}
DEFAULT = "default"
NAMES = (DEFAULT, *BY_FIXTURE.values())

ORIGIN = "http://valid.example.com"
ORIGIN_HEADERS = "openstack-api-version"


@dataclass(frozen=True)
class Profile:
    """One configuration of a server."""

    name: str
    open_rules: Sequence[str] = ()
    """Policy rules that allow everything."""

    def allod_toml(self) -> str:
        """The settings of our server."""
        tables: Dict[str, List[str]] = {"policy": [f"enforce_new_defaults = {str(self._secure).lower()}"]}
        if self._secure:
            tables["policy"].append("enforce_scope = true")
        if self.open_rules:
            tables["policy.rules"] = [f'"{rule}" = "@"' for rule in self.open_rules]
        if self.name == "cors":
            tables["cors"] = [f'allowed_origin = "{ORIGIN}"', f'allow_headers = "{ORIGIN_HEADERS}"']
        return _sections(tables)

    def placement_conf(self, folder: str) -> str:
        """The settings of the real server, with its files in ``folder``."""
        tables = {
            "DEFAULT": [f"log_file = {folder}/placement.log"],
            "api": ["auth_strategy = noauth2"],
            "placement_database": [
                f"connection = sqlite:///{folder}/placement.db",
                "sync_on_startup = true",
                "sqlite_synchronous = false",
            ],
            "oslo_policy": [
                f"policy_file = {folder}/policy.yaml",
                f"enforce_new_defaults = {str(self._secure).lower()}",
            ],
        }
        if self._secure:
            tables["oslo_policy"].append("enforce_scope = true")
        if self.name == "cors":
            tables["cors"] = [f"allowed_origin = {ORIGIN}", f"allow_headers = {ORIGIN_HEADERS}"]
        return _sections(tables)

    def policy_yaml(self) -> str:
        """The policy file of the real server."""
        return "".join(f'"{rule}": "@"\n' for rule in self.open_rules)

    @property
    def _secure(self) -> bool:
        return self.name == "secure"


def named_by(fixtures: Sequence[str]) -> str:
    """The profile that a file with these fixtures needs."""
    named = [BY_FIXTURE[fixture] for fixture in fixtures if fixture in BY_FIXTURE]
    return named[0] if named else DEFAULT


def _sections(tables: Dict[str, List[str]]) -> str:
    return "\n".join(f"[{name}]\n" + "".join(f"{line}\n" for line in lines) for name, lines in tables.items())
