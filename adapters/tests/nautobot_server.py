"""A real Nautobot with PostgreSQL and Redis. The migration takes minutes, so the migrated database is kept as a dump."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import urllib.request
from pathlib import Path
from typing import List, Optional

from processes import Running, free_port, program, run

TOKEN = "0123456789abcdef0123456789abcdef01234567"
CONFIG = 'from nautobot.core.settings import *\nSECRET_KEY = "only for tests"\nINSTALLATION_METRICS_ENABLED = False\n'
SETTINGS = ["fsync=off", "synchronous_commit=off", "full_page_writes=off", "listen_addresses="]
UWSGI = ["master=true", "processes=4", "need-app=true", "buffer-size=16384"]
# Its workers take long to end, so they get one second. If the master is killed, they end as well.
UWSGI += ["die-on-term=true", "reload-mercy=1", "worker-reload-mercy=1", "no-orphans=true"]
ADD_TOKEN = (
    "from nautobot.users.models import Token, User; "
    f"Token.objects.get_or_create(user=User.objects.get(username='admin'), key='{TOKEN}')"
)


class Database:
    """PostgreSQL in a folder of its own, reached by a socket in that folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # PostgreSQL refuses to run as root. Its Debian package creates this account.
        self._account = "postgres" if os.geteuid() == 0 else None
        folder.mkdir(mode=0o700)
        if self._account is not None:
            shutil.chown(folder, self._account)
        data = str(folder / "data")
        self.run("initdb", "-D", data, "--auth=trust", "--username=nautobot", "--encoding=UTF8", "--no-sync")
        options = [f"-c{setting}" for setting in (*SETTINGS, f"unix_socket_directories={folder}")]
        # Debian's server writes its log to stderr. SIGINT is its fast shutdown.
        self._process = Running(
            [_postgres("postgres"), "-D", data, *options],
            folder.parent / "postgres.log",
            lambda: subprocess.call([_postgres("pg_isready"), "-q", "-h", str(folder)]) == 0,
            account=self._account,
        )

    def run(self, name: str, *arguments: str) -> str:
        return run([_postgres(name), *arguments], account=self._account)

    def client(self, name: str, *arguments: str) -> str:
        """A client program. It runs as ourselves, so that it can read and write our files."""
        return run([_postgres(name), "-h", str(self.folder), "-U", "nautobot", *arguments])

    def stop(self) -> None:
        self._process.stop(signal.SIGINT)


class NautobotServer:
    def __init__(self, python: Path) -> None:
        self._server = python.with_name("nautobot-server")
        self._dump = python.parents[1] / "migrated.dump"
        self._folder = tempfile.TemporaryDirectory(prefix="nautobot-")
        root = self.folder = Path(self._folder.name)
        # PostgreSQL may run as another user.
        root.chmod(0o755)
        (root / "nautobot_config.py").write_text(CONFIG, encoding="utf-8")
        self._running: List[Running] = []
        self._database: Optional[Database] = None
        try:
            self._start(root)
        except BaseException:
            self.stop()
            raise

    def _start(self, root: Path) -> None:
        self._database = Database(root / "postgres")
        redis = free_port()
        command = ["redis-server", "--port", str(redis), "--bind", "127.0.0.1", "--save", "", "--dir", str(root)]
        self._running.append(
            Running([program(command[0]), *command[1:]], root / "redis.log", lambda: _listens(redis), cwd=root)
        )
        self._env = {
            "NAUTOBOT_ROOT": str(root),
            "NAUTOBOT_CONFIG": str(root / "nautobot_config.py"),
            "NAUTOBOT_DB_HOST": str(self._database.folder),
            "NAUTOBOT_DB_PORT": "5432",
            "NAUTOBOT_DB_NAME": "nautobot",
            "NAUTOBOT_DB_USER": "nautobot",
            "NAUTOBOT_REDIS_HOST": "127.0.0.1",
            "NAUTOBOT_REDIS_PORT": str(redis),
            "NAUTOBOT_ALLOWED_HOSTS": "127.0.0.1 localhost",
        }
        self._database.client("createdb", "nautobot")
        if self._dump.is_file():
            self._database.client("pg_restore", "--dbname=nautobot", "--no-owner", str(self._dump))
        else:
            self._migrate(self._database)
        self.port = free_port()
        ini = "\n".join(["[uwsgi]", f"http-socket=127.0.0.1:{self.port}", *UWSGI])
        (root / "uwsgi.ini").write_text(ini + "\n", encoding="utf-8")
        self._running.append(
            Running(
                [str(self._server), "start", "--ini", str(root / "uwsgi.ini")],
                root / "nautobot.log",
                lambda: _answers(f"http://127.0.0.1:{self.port}/api/status/"),
                env=self._env,
                cwd=root,
                seconds=120,
            )
        )

    def _migrate(self, database: Database) -> None:
        print("the migration of Nautobot's database takes about six minutes", flush=True)
        self._manage("migrate", "--no-input")
        user = ["createsuperuser", "--no-input", "--username", "admin", "--email", "admin@example.invalid"]
        self._manage(*user)
        self._manage("nbshell", "--quiet-load", "-c", ADD_TOKEN)
        made = self._dump.with_suffix(".new")
        database.client("pg_dump", "-Fc", f"--file={made}", "nautobot")
        # Renamed when complete, so that an interrupted run leaves no partial dump.
        os.replace(made, self._dump)

    def _manage(self, *arguments: str) -> None:
        run([str(self._server), *arguments], env={**self._env, "DJANGO_SUPERUSER_PASSWORD": "admin"})

    def stop(self) -> None:
        for running in reversed(self._running):
            running.stop()
        if self._database is not None:
            self._database.stop()
        self._folder.cleanup()


def _postgres(name: str) -> str:
    """Debian does not put the server's programs on the path."""
    versions = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[4]))
    return str(versions[-1]) if versions else program(name)


def _listens(port: int) -> bool:
    with socket.create_connection(("127.0.0.1", port), timeout=1):
        return True


def _answers(url: str) -> bool:
    asked = urllib.request.Request(url, headers={"Authorization": f"Token {TOKEN}"})
    with urllib.request.urlopen(asked, timeout=30) as answer:
        return bool(answer.status == 200)
