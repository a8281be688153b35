"""The settings of each profile for both kinds of server."""

from __future__ import annotations

from servers.profiles import Profile, named_by


def test_the_fixtures_of_a_file_select_its_profile() -> None:
    assert named_by(["APIFixture"]) == "default"
    assert named_by([]) == "default"
    assert named_by(["AllocationFixture", "SecureRBACPolicyFixture"]) == "secure"


def test_settings_of_our_server() -> None:
    assert Profile("legacy").allod_toml() == "[policy]\nenforce_new_defaults = false\n"
    assert Profile("secure").allod_toml() == "[policy]\nenforce_new_defaults = true\nenforce_scope = true\n"
    assert '\n[policy.rules]\n"placement:usages" = "@"\n' in Profile("open", ["placement:usages"]).allod_toml()
    cors = '[cors]\nallowed_origin = "http://valid.example.com"\nallow_headers = "openstack-api-version"\n'
    assert Profile("cors").allod_toml().endswith(cors)


def test_settings_of_the_real_server() -> None:
    text = Profile("cors").placement_conf("folder")
    assert "connection = sqlite:///folder/placement.db\n" in text
    assert "enforce_new_defaults = false\n" in text and "allowed_origin = http://valid.example.com\n" in text
    assert Profile("open", ["placement:usages"]).policy_yaml() == '"placement:usages": "@"\n'
