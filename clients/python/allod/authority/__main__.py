"""``python -m allod.authority MODULE:CLASS``: serves an adapter."""

from __future__ import annotations

import argparse
import importlib
import logging
import sys
from typing import Dict, List, Optional

from .adapter import Adapter
from .server import SECRET_VARIABLE, serve


def main(arguments: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m allod.authority", description="Serves an adapter to allod.")
    parser.add_argument("adapter", metavar="MODULE:CLASS", help="the adapter, for example etcd:Etcd")
    parser.add_argument("--listen", default="127.0.0.1:8800", metavar="ADDRESS:PORT")
    parser.add_argument(
        "--secret-file", metavar="FILE", help=f"a file with the bearer secret; otherwise {SECRET_VARIABLE}"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="an argument of the class; can be repeated"
    )
    given = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    try:
        serve(load(given.adapter, settings(given.set)), given.listen, secret_file=given.secret_file)
    except (ValueError, TypeError, ImportError, OSError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 1
    return 0


def settings(pairs: List[str]) -> Dict[str, str]:
    made: Dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.isidentifier():
            raise ValueError(f"--set {pair} is not NAME=VALUE")
        made[name] = value
    return made


def load(name: str, arguments: Dict[str, str]) -> Adapter:
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise ValueError(f"{name!r} is not MODULE:CLASS")
    made = getattr(importlib.import_module(module), attribute, None)
    if not (isinstance(made, type) and issubclass(made, Adapter)):
        raise ValueError(f"{attribute!r} in module {module!r} is not a subclass of allod.authority.Adapter")
    return made(**arguments)


if __name__ == "__main__":
    sys.exit(main())
