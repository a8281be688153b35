"""The routes of the server: the request for each, and the reader of its response. No sockets here.

A ``Call`` is one request and the meaning of its responses. Every call can be sent again if its response was lost: reads
change nothing, a claim is idempotent by its key, a release and a definition state the desired result, and a transaction
has an idempotency key. With a ``version``, the second attempt may conflict with the first one. If the response shows that
the first attempt succeeded, the call succeeds; otherwise the exception has ``after_lost`` set.
"""

from __future__ import annotations

import json
import math
import uuid
from dataclasses import dataclass
from typing import Any, Callable, Dict, Generic, Iterable, Mapping, Optional, Tuple, TypeVar, Union
from urllib.parse import quote, urlencode

from . import answers
from .answers import Change, Claim, Done, Pool, Status, Who
from .errors import BadAnswer, NotHeld, Problem, VersionDiffers, problem
from .http1 import Request, Response
from .transaction import Transaction, Version, members
from .values import Moment, ValueLike, write_moment

T = TypeVar("T")
Query = Mapping[str, Union[None, str, int, bool, Iterable[str]]]


@dataclass(frozen=True)
class Call(Generic[T]):
    request: Request
    answer: Callable[[Response], T]
    gone: Optional[Callable[[], T]] = None
    """The result of a deletion that finds nothing to delete after an attempt whose response was lost."""
    wait: float = 0.0
    """How long the server was asked to wait before it answers, in seconds."""

    def read(self, response: Response, lost: bool) -> T:
        if response.status < 300:
            return self.answer(response)
        error = problem_of(response, lost)
        absent = isinstance(error, VersionDiffers) and error.actual is None
        if lost and self.gone is not None and (absent or isinstance(error, NotHeld)):
            return self.gone()
        raise error


@dataclass(frozen=True)
class Page(Generic[T]):
    items: Tuple[T, ...]
    next: Optional[str]


def problem_of(response: Response, lost: bool) -> Problem:
    try:
        parsed: object = json.loads(response.body)
    except ValueError:
        parsed = None
    members = parsed if isinstance(parsed, dict) else {}
    error = problem(response.status, members, response.headers.get("x-request-id"))
    error.after_lost = lost
    return error


def position_of(response: Response) -> Optional[int]:
    """The journal position that a response reflects."""
    text = response.headers.get("allod-position", "")
    return int(text) if text.isascii() and text.isdigit() else None


def _json(response: Response) -> object:
    try:
        return json.loads(response.body)
    except ValueError as error:
        raise BadAnswer(f"the response is not JSON: {response.body!r:.200}") from error


def read_json(read: Callable[[answers.Json], T]) -> Callable[[Response], T]:
    checked = answers.reading(read)
    return lambda response: checked(_json(response))


def _nothing(_: Response) -> None:
    return None


def read_page(name: str, read: Callable[[answers.Json], T]) -> Callable[[Response], Page[T]]:
    def page(json: answers.Json) -> Page[T]:
        return Page(tuple(read(item) for item in json[name]), json["next"])

    return read_json(page)


def path(*parts: str) -> str:
    """A path under ``/v1``. Each part may contain any character, including a slash."""
    return "/v1/" + "/".join(quote(part, safe="") for part in parts)


def with_query(path: str, query: Query) -> str:
    pairs = []
    for name, value in query.items():
        if value is None:
            continue
        if isinstance(value, bool):
            pairs.append((name, "true" if value else "false"))
        elif isinstance(value, (str, int)):
            pairs.append((name, str(value)))
        else:
            pairs.extend((name, one) for one in value)
    return f"{path}?{urlencode(pairs, quote_via=quote)}" if pairs else path


def guard(version: Version, absent: bool = False) -> Dict[str, str]:
    if version is not None and absent:
        raise ValueError("version and absent cannot be combined")
    if version is not None:
        return {"if-match": f'"{version}"'}
    return {"if-none-match": "*"} if absent else {}


def prefer(wait: Optional[float]) -> Dict[str, str]:
    """Asks the server to wait for an authority, in whole seconds."""
    return {} if wait is None else {"prefer": f"wait={math.ceil(wait)}"}


def claim_or_none(response: Response) -> Optional[Claim]:
    """The claim in a response; ``None`` if it has no body, because the claim has ended."""
    return read_json(answers.claim)(response) if response.body else None


def _fresh(min_position: Optional[int], linearizable: bool) -> Dict[str, str]:
    headers: Dict[str, str] = {}
    if min_position is not None:
        headers["allod-min-position"] = str(min_position)
    if linearizable:
        headers["allod-consistency"] = "linearizable"
    return headers


def send(method: str, target: str, body: object, headers: Dict[str, str]) -> Request:
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    return Request(method, target, {"content-type": "application/json", **headers}, text)


def put_pool(
    name: str,
    kind: str,
    ranges: Iterable[ValueLike] = (),
    *,
    exclude: Iterable[ValueLike] = (),
    manual: Iterable[ValueLike] = (),
    draining: Iterable[ValueLike] = (),
    strategy: Optional[str] = None,
    keep_edges: Optional[bool] = None,
    quarantine: Optional[float] = None,
    lease: Optional[float] = None,
    reap: bool = False,
    authority: Optional[str] = None,
    labels: Optional[Mapping[str, str]] = None,
    keep_held: bool = False,
    version: Version = None,
    absent: bool = False,
) -> Call[Pool]:
    def texts(values: Iterable[ValueLike]) -> list[str]:
        return [str(value) for value in values]

    body = members(
        kind=kind,
        ranges=texts(ranges),
        exclude=texts(exclude),
        manual=texts(manual),
        draining=texts(draining),
        strategy=strategy,
        keep_edges=keep_edges,
        quarantine=quarantine,
        lease=lease,
        reap=reap,
        authority=authority,
        labels=dict(labels or {}),
    )
    target = with_query(path("pools", name), {"keep_held": True if keep_held else None})
    return Call(
        send("PUT", target, body, guard(version, absent)),
        lambda response: read_json(lambda json: answers.pool(json, response.status == 201))(response),
    )


def pool(name: str, *, min_position: Optional[int], linearizable: bool) -> Call[Pool]:
    headers = _fresh(min_position, linearizable)
    return Call(Request("GET", path("pools", name), headers), read_json(answers.pool))


def pools(prefix: Optional[str], page_size: Optional[int], after: Optional[str]) -> Call[Page[Pool]]:
    target = with_query(path("pools"), {"prefix": prefix, "limit": page_size, "after": after})
    return Call(Request("GET", target), read_page("pools", answers.pool))


def delete_pool(name: str, *, version: Version) -> Call[None]:
    request = Request("DELETE", path("pools", name), guard(version))
    return Call(request, _nothing, gone=lambda: None)


def claim(
    pool: str,
    key: str,
    body: Mapping[str, Any],
    *,
    version: Version,
    absent: bool,
    wait: Optional[float] = None,
) -> Call[Claim]:
    return Call(
        send("PUT", path("pools", pool, "claims", key), body, {**guard(version, absent), **prefer(wait)}),
        lambda response: read_json(lambda json: answers.claim(json, response.status == 201))(response),
        wait=wait or 0.0,
    )


def get(pool: str, key: str, *, min_position: Optional[int], linearizable: bool) -> Call[Claim]:
    headers = _fresh(min_position, linearizable)
    return Call(Request("GET", path("pools", pool, "claims", key), headers), read_json(answers.claim))


def release(
    pool: str, key: str, *, version: Version, wait: Optional[float] = None
) -> Call[Optional[Claim]]:
    headers = {**guard(version), **prefer(wait)}
    request = Request("DELETE", path("pools", pool, "claims", key), headers)
    return Call(request, claim_or_none, gone=lambda: None, wait=wait or 0.0)


def renew(pool: str, key: str, *, ttl: Optional[float], version: Version) -> Call[Claim]:
    target = path("pools", pool, "claims", key, "renew")
    return Call(send("POST", target, members(ttl=ttl), guard(version)), read_json(answers.claim))


def confirm(pool: str, key: str, *, version: Version) -> Call[Claim]:
    target = path("pools", pool, "claims", key, "confirm")
    return Call(send("POST", target, {}, guard(version)), read_json(answers.claim))


def claims(pool: Optional[str], query: Query) -> Call[Page[Claim]]:
    at = path("claims") if pool is None else path("pools", pool, "claims")
    return Call(Request("GET", with_query(at, query)), read_page("claims", answers.claim))


def who(
    pool: str,
    value: ValueLike,
    *,
    at: Optional[Moment],
    min_position: Optional[int],
    linearizable: bool,
) -> Call[Who]:
    moment = None if at is None else write_moment(at)
    target = with_query(path("pools", pool, "values", str(value)), {"at": moment})
    headers = _fresh(min_position, linearizable)
    return Call(Request("GET", target, headers), read_json(answers.who))


def transact(
    transaction: Transaction, *, dry_run: bool, idempotency_key: Optional[str]
) -> Call[Done]:
    body = {"ops": transaction.ops, "dry_run": dry_run}
    # Generated once per call, so that all attempts have the same key.
    headers = {} if dry_run else {"idempotency-key": idempotency_key or uuid.uuid4().hex}
    return Call(send("POST", path("transactions"), body, headers), read_json(answers.done))


def history(query: Query) -> Call[Page[Change]]:
    return Call(
        Request("GET", with_query(path("history"), query)), read_page("changes", answers.change)
    )


def status() -> Call[Status]:
    return Call(Request("GET", path("status")), read_json(answers.status))


def limits() -> Call[Mapping[str, int]]:
    return Call(Request("GET", path("limits")), read_json(answers.limits))


def position() -> Call[Optional[int]]:
    """The current journal position, by the cheapest read."""
    return Call(Request("GET", with_query(path("pools"), {"limit": 1})), position_of)


def watch(query: Query, last_seen: int) -> Request:
    headers = {"accept": "text/event-stream", "last-event-id": str(last_seen)}
    return Request("GET", with_query(path("watch"), {"from": last_seen, **query}), headers)


