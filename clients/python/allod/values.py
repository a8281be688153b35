"""Conversion of values and times between JSON and Python.

An ID is an ``int``, an address an ``IPv4Address`` or ``IPv6Address``, a prefix an ``IPv4Network`` or ``IPv6Network``, a
time a ``datetime`` with a time zone. Ranges (``10.0.0.4-10.0.0.9``) are strings.
"""

from __future__ import annotations

from datetime import datetime, timezone
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Union

Value = Union[int, IPv4Address, IPv6Address, IPv4Network, IPv6Network]
"""One value of a pool."""

ValueLike = Union[Value, str]
"""Accepted as a value argument."""

Moment = Union[datetime, int]
"""A time, or a journal position."""


def read_value(json: object) -> Value:
    if isinstance(json, int) and not isinstance(json, bool):
        return json
    if isinstance(json, str):
        return ip_network(json) if "/" in json else ip_address(json)
    raise ValueError(f"{json!r} is not a value")


def write_value(value: ValueLike) -> Union[int, str]:
    return value if isinstance(value, int) else str(value)


def read_time(json: object) -> datetime:
    if not isinstance(json, str):
        raise ValueError(f"{json!r} is not a time")
    # Before Python 3.11, fromisoformat does not accept Z.
    return datetime.fromisoformat(json[:-1] + "+00:00" if json.endswith("Z") else json)


def write_moment(moment: Moment) -> str:
    if isinstance(moment, int):
        return str(moment)
    if moment.tzinfo is None:
        raise ValueError("the time has no time zone; add one")
    text = moment.astimezone(timezone.utc).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")
