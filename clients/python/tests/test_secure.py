"""Tokens and TLS."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Any, Iterator, NamedTuple

import pytest
import trustme
from server import Server, binary

from allod import Forbidden, Retry, Unauthenticated, Unreachable


class Secured(NamedTuple):
    url: str
    ca: Path
    other_ca: Path
    admin: str
    reader: str


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("secure")
    ca, other = trustme.CA(), trustme.CA()
    certificate = ca.issue_cert("127.0.0.1", "localhost")
    ca.cert_pem.write_to_path(str(folder / "ca.pem"))
    other.cert_pem.write_to_path(str(folder / "other.pem"))
    for blob in certificate.cert_chain_pems:
        blob.write_to_path(str(folder / "server.pem"), append=True)
    certificate.private_key_pem.write_to_path(str(folder / "server.key"))

    def token(name: str, role: str) -> str:
        command = [binary(), "token", "new", "--name", name, "--role", role]
        command += ["--file", str(folder / "tokens.toml")]
        made = subprocess.run(command, capture_output=True, text=True, check=True)
        return made.stdout.strip()

    admin, reader = token("boss", "admin"), token("looker", "reader")
    server = Server(
        folder / "data",
        *("--auth", "tokens", "--tokens", str(folder / "tokens.toml")),
        *("--tls-cert", str(folder / "server.pem"), "--tls-key", str(folder / "server.key")),
        tls_ca=folder / "ca.pem",
    )
    yield Secured(server.url, folder / "ca.pem", folder / "other.pem", admin, reader)
    server.stop()


def test_valid_token_over_tls_is_accepted(kind: Any, secured: Secured) -> None:
    client = kind(secured.url, token=secured.admin, ca_file=secured.ca)
    client.put_pool("p", "id32", ["1-9"])
    assert client.claim("p", f"{kind.__name__}").new
    with client.watch(after=0, pool="p") as watch:
        assert next(watch).events[0].kind == "pool_defined"
    client.close()


def test_missing_or_insufficient_token_raises(kind: Any, secured: Secured) -> None:
    client = kind(secured.url, ca_file=secured.ca)
    with pytest.raises(Unauthenticated):
        client.limits()
    client.close()
    client = kind(secured.url, token=secured.reader, ca_file=secured.ca)
    assert list(client.claims()) is not None
    with pytest.raises(Forbidden) as raised:
        client.claim("p", "k")
    assert raised.value.code == "not_allowed"
    client.close()


def test_changed_token_file_takes_effect(
    kind: Any, secured: Secured, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text("allod_wrong\n", encoding="utf-8")
    client = kind(secured.url, token_file=file, ca_file=secured.ca)
    with pytest.raises(Unauthenticated):
        client.limits()
    file.write_text(secured.reader + "\n", encoding="utf-8")
    assert client.limits()
    client.close()


@pytest.mark.parametrize("ca", ["other", "usual"])
def test_untrusted_certificate_is_not_retried(
    ca: str, kind: Any, secured: Secured
) -> None:
    trusted = secured.other_ca if ca == "other" else None
    client = kind(secured.url, token=secured.admin, ca_file=trusted, retry=Retry(total=20.0))
    began = time.monotonic()
    with pytest.raises(Unreachable, match="not trusted"):
        client.limits()
    assert time.monotonic() - began < 5
    client.close()
