"""A real Neutron on SQLite. Its own Python serves the WSGI application."""

from __future__ import annotations

import tempfile
import urllib.request
from pathlib import Path

from processes import Running, free_port, run

PROJECT = "0123456789abcdef0123456789abcdef"
CONF = """
[DEFAULT]
core_plugin = ml2
service_plugins = revisions,timestamp,tag
auth_strategy = noauth
transport_url = fake://
notify_nova_on_port_status_changes = false
notify_nova_on_port_data_changes = false
state_path = {folder}
[database]
connection = sqlite:///{folder}/neutron.db
[ml2]
type_drivers = local
tenant_network_types = local
mechanism_drivers =
[oslo_concurrency]
lock_path = {folder}
[oslo_messaging_notifications]
driver = noop
"""
# SQLite cannot run the migrations of Neutron, so its models create the tables.
SCHEMA = """
import sys
import sqlalchemy
from neutron.db.migration.models import head
head.get_metadata().create_all(sqlalchemy.create_engine(sys.argv[1]))
"""
# One thread: two writers at the same time get 500 from SQLite.
SERVE = """
import sys
from wsgiref.simple_server import WSGIRequestHandler, make_server
port, sys.argv = int(sys.argv[1]), ["neutron", *sys.argv[2:]]
from neutron.wsgi.api import application
make_server("127.0.0.1", port, application).serve_forever()
"""


class NeutronServer:
    def __init__(self, python: Path) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="neutron-")
        folder = Path(self._folder.name)
        (folder / "neutron.conf").write_text(CONF.format(folder=folder), encoding="utf-8")
        (folder / "api-paste.ini").write_text((python.parents[1] / "etc/neutron/api-paste.ini").read_text())
        run([str(python), "-c", SCHEMA, f"sqlite:///{folder}/neutron.db"])
        self.port = free_port()
        command = [str(python), "-c", SERVE, str(self.port), "--config-file", str(folder / "neutron.conf")]
        self._process = Running(
            command, folder / "neutron.log", self._answers, cwd=folder, env={"OS_NEUTRON_CONFIG_DIR": str(folder)}, seconds=60
        )

    def _answers(self) -> bool:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/v2.0/networks", timeout=10) as answer:
            return bool(answer.status == 200)

    def stop(self) -> None:
        self._process.stop()
        self._folder.cleanup()
