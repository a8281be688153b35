"""Every method of both clients against a real server."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from ipaddress import IPv4Address, IPv4Network, IPv6Network
from typing import Any

import pytest
from server import Server

import allod
from allod import (
    CheckFailed,
    Checked,
    Claimed,
    Client,
    Exhausted,
    HeldOutside,
    IdempotencyDiffers,
    Invalid,
    KindDiffers,
    Leased,
    LimitExceeded,
    NoLease,
    NotHeld,
    ParamsDiffer,
    PoolInUse,
    PoolUnknown,
    Problem,
    Quarantined,
    Released,
    SyncDiffers,
    Taken,
    Transaction,
    Unreachable,
    ValueUnavailable,
    VersionDiffers,
)


def test_pool_is_created_changed_and_removed(client: Any) -> None:
    made = client.put_pool(
        "life", "id32", ["1-9", 20], exclude=[3], quarantine=1.5, labels={"a": "b"}, absent=True
    )
    assert made.new and made.ranges == ("1-9", "20") and made.quarantine == 1.5
    again = client.put_pool("life", "id32", ["1-9"], version=made.generation)
    assert not again.new and again.generation == made.generation + 1
    read = client.pool("life", min_position=client.position, linearizable=True)
    assert read.usage is not None and read.usage.free == 9 and read.lease is None
    with pytest.raises(VersionDiffers) as raised:
        client.delete_pool("life", version=made.generation)
    assert raised.value.actual == again.generation
    client.delete_pool("life", version=again.generation)
    client.delete_pool("life")
    with pytest.raises(PoolUnknown):
        client.pool("life")


def test_lists_read_all_pages(client: Any, pool: str) -> None:
    for number in range(7):
        client.claim(pool, f"k{number}", owner=f"{pool} owner {number % 2}")
    assert [claim.value for claim in client.claims(pool, page_size=2)] == [1, 2, 3, 4, 5, 6, 7]
    assert [claim.key for claim in client.claims(owner_prefix=f"{pool} owner 1", page_size=2)] == [
        "k1",
        "k3",
        "k5",
    ]
    assert [claim.value for claim in client.claims(pool, overlaps="3-4")] == [3, 4]
    assert list(client.claims(pool, expired=True)) == []
    assert [one.name for one in client.pools(pool, page_size=1)] == [pool]


def test_claim_is_idempotent(client: Any, pool: str) -> None:
    first = client.claim(pool, "a/b", owner="o", ttl=60, labels={"x": "y"})
    again = client.claim(pool, "a/b", owner="o", ttl=60, labels={"x": "y"})
    assert first.new and not again.new
    assert (again.value, again.version, again.owner, again.labels) == (1, first.version, "o", {"x": "y"})
    assert first.expires is not None and first.expires > first.created
    assert client.get(pool, "a/b").value == 1
    renewed = client.renew(pool, "a/b", ttl=120, version=first.version)
    assert renewed.expires > first.expires
    assert client.confirm(pool, "a/b", version=renewed.version).expires is None
    who = client.who(pool, 1)
    assert who.state == "held" and who.claim is not None and who.claim.key == "a/b"
    client.release(pool, "a/b", version=who.claim.version)
    assert client.who(pool, 1).state == "free"
    client.release(pool, "a/b")
    with pytest.raises(NotHeld):
        client.get(pool, "a/b")


def test_addresses_and_prefixes_are_ipaddress_objects(client: Any) -> None:
    client.put_pool("a4", "ipv4_address", ["10.0.0.0/24"])
    client.put_pool("p6", "ipv6_prefix", ["2001:db8::/32"])
    assert client.claim("a4", "k").value == IPv4Address("10.0.0.1")
    assert client.claim("a4", "n", value=IPv4Address("10.0.0.9")).value == IPv4Address("10.0.0.9")
    several = client.claim("a4", "s", count=3, contiguous=True)
    assert several.values is not None and len(several.values) == 3 and several.ranges
    block = client.claim("p6", "k", prefix_len=48)
    assert block.value == IPv6Network("2001:db8::/48")
    assert client.who("p6", block.value).state == "held"
    client.put_pool("p4", "ipv4_prefix", [IPv4Network("10.0.0.0/8")])


def test_transaction_is_atomic(client: Any, pool: str) -> None:
    client.claim(pool, "old", ttl=60)
    whole = (
        Transaction()
        .check_pool(pool)
        .check_free(pool, 50)
        .check_claim(pool, "old", value=1)
        .claim(pool, "new", value=50, expect="absent")
        .renew(pool, "old", ttl=90)
        .confirm(pool, "old")
        .release(pool, "old")
    )
    rehearsed = client.transact(whole, dry_run=True)
    assert rehearsed.dry_run
    with pytest.raises(NotHeld):
        client.get(pool, "new")
    done = client.transact(whole)
    checked, _, _, claimed, renewed, confirmed, released = done.results
    assert isinstance(checked, Checked) and isinstance(claimed, Claimed)
    assert claimed.new and claimed.claim.value == 50
    assert isinstance(renewed, Leased) and renewed.claim.expires is not None
    assert isinstance(confirmed, Leased) and confirmed.claim.expires is None
    assert released == Released(existed=True)
    with pytest.raises(CheckFailed) as raised:
        client.transact(Transaction().claim(pool, "more").check_free(pool, 50))
    assert raised.value.op == 1
    with pytest.raises(NotHeld):
        client.get(pool, "more")


def test_transaction_with_own_idempotency_key_runs_once(client: Any, pool: str) -> None:
    one = Transaction().claim(pool, "x", count=2)
    first = client.transact(one, idempotency_key=f"{id(client)}")
    assert client.transact(one, idempotency_key=f"{id(client)}") == first
    with pytest.raises(IdempotencyDiffers):
        client.transact(Transaction().release(pool, "x"), idempotency_key=f"{id(client)}")


def test_each_refusal_has_its_exception_class(client: Any, pool: str) -> None:
    other = f"{pool}'"
    client.put_pool(other, "id32", ["1-2"], quarantine=60)
    client.claim(pool, "k", value=5)
    client.claim(other, "a", value=1)
    client.claim(other, "s")
    client.claim(pool, "s")
    client.release(other, "a")
    refused: Any = [
        (Invalid, lambda: client.claim(pool, "i", count=0)),
        (Invalid, lambda: client.claim(pool, "i", value="ten")),
        (LimitExceeded, lambda: client.claim(pool, "k" * 2000)),
        (PoolUnknown, lambda: client.claim("nowhere", "k")),
        (VersionDiffers, lambda: client.claim(pool, "k", value=5, absent=True)),
        (KindDiffers, lambda: client.put_pool(pool, "id64", ["1-100"])),
        (PoolInUse, lambda: client.delete_pool(pool)),
        (HeldOutside, lambda: client.put_pool(pool, "id32", ["10-20"])),
        (NotHeld, lambda: client.renew(pool, "none")),
        (ParamsDiffer, lambda: client.claim(pool, "k", value=6)),
        (NoLease, lambda: client.renew(pool, "k")),
        (ValueUnavailable, lambda: client.claim(pool, "n", value=101)),
        (Taken, lambda: client.claim(pool, "n", value=5)),
        (Quarantined, lambda: client.claim(other, "n", value=1)),
        (SyncDiffers, lambda: client.transact(Transaction().claim([pool, other], "s"))),
        (Exhausted, lambda: client.claim(other, "n")),
    ]
    for kind, call in refused:
        with pytest.raises(kind) as raised:
            call()
        error = raised.value
        assert type(error) is kind and error.request_id, error
        assert error.code in str(error) and error.detail in str(error)
        assert error.advice in ("change", "reread", "wait_until", "wait_for_release", None)


def test_refusal_has_the_members_of_the_response(client: Any, pool: str) -> None:
    client.claim(pool, "k", value=5, owner="owner-1", ttl=60)
    with pytest.raises(Taken) as taken:
        client.claim(pool, "n", value=5)
    error = taken.value
    assert (error.holder_key, error.holder_owner, error.value) == ("k", "owner-1", 5)
    assert error.status == 409 and error.advice == "wait_until" and error.wait_until is not None
    with pytest.raises(ParamsDiffer) as differs:
        client.claim(pool, "k", value=6, owner="owner-1", ttl=60)
    assert differs.value.fields == ("value",)
    with pytest.raises(Exhausted) as exhausted:
        client.claim(pool, "n", count=100)
    assert exhausted.value.reports[0]["size"] == 100
    with pytest.raises(LimitExceeded) as limited:
        client.claim(pool, "k" * 2000)
    assert limited.value.limit == "key_bytes_max"


def test_limits_are_returned(client: Any) -> None:
    assert client.limits()["key_bytes_max"] == 1024


def test_invalid_url_raises_value_error(kind: Any) -> None:
    for url in ("localhost:8778", "ftp://localhost", "http://", "http://h/?x"):
        with pytest.raises(ValueError):
            kind(url)


def test_unreachable_server_means_not_executed(kind: Any) -> None:
    client = kind("http://127.0.0.1:9", retry=allod.Retry(total=0.3))
    with pytest.raises(Unreachable) as raised:
        client.limits()
    assert not raised.value.maybe_done
    client.close()


def test_threads_share_a_client(server: Server) -> None:
    with Client(server.url) as client:
        client.put_pool("threads", "id32", ["1-200"])
        with ThreadPoolExecutor(16) as threads:
            claims = list(threads.map(lambda n: client.claim("threads", f"k{n}").value, range(200)))
    assert sorted(int(str(value)) for value in claims) == list(range(1, 201))


def test_path_prefix_of_the_url_is_kept(server: Server) -> None:
    with Client(f"{server.url}/v1/proxy/") as client, pytest.raises(Problem) as raised:
        client.limits()
    assert raised.value.code == "route_unknown" and "/v1/proxy/v1/limits" in raised.value.detail
