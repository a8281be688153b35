"""The schema by pyang, as far as it is needed to resolve paths."""

from __future__ import annotations

import io
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterator, List, Optional, Sequence

from pyang import context, repository

#: Statements without data nodes.
_TRANSPARENT = ("choice", "case")

#: Strings in RFC 7951, because JSON numbers may lose digits.
_LONG = ("int64", "uint64", "decimal64")


def check_module(module: Path) -> str:
    """The errors and warnings of pyang; empty if the module is valid."""
    command = [sys.executable, "-m", "pyang.scripts.pyang_tool", "--strict", "-Werror"]
    command += ["-p", str(module.parent), str(module)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    said = (ran.stderr + ran.stdout).strip()
    return said or (f"pyang ended with {ran.returncode}" if ran.returncode else "")


@dataclass(frozen=True)
class Node:
    """One node of the schema."""

    statement: Any

    @property
    def kind(self) -> str:
        return str(self.statement.keyword)

    @property
    def name(self) -> str:
        return str(self.statement.arg)

    @property
    def module(self) -> str:
        return str(self.statement.i_module.i_modulename)

    @property
    def namespace(self) -> str:
        return str(self.statement.i_module.search_one("namespace").arg)

    @property
    def keys(self) -> List[str]:
        return [str(key.arg) for key in getattr(self.statement, "i_key", None) or []]

    @property
    def long_number(self) -> bool:
        kind = self.statement.search_one("type")
        while kind is not None and getattr(kind, "i_typedef", None) is not None:
            kind = kind.i_typedef.search_one("type")
        return kind is not None and kind.arg in _LONG

    @property
    def config(self) -> bool:
        return bool(getattr(self.statement, "i_config", True))

    def children(self) -> Iterator["Node"]:
        return _seen_through(self.statement)

    def child(self, name: str) -> Optional["Node"]:
        """By name, with or without the module."""
        return _named(self.children(), name)


def _seen_through(statement: Any) -> Iterator[Node]:
    for child in getattr(statement, "i_children", []):
        if child.keyword in _TRANSPARENT:
            yield from _seen_through(child)
        else:
            yield Node(child)


def _named(nodes: Iterator[Node], name: str) -> Optional[Node]:
    module, _, plain = name.rpartition(":")
    return next((node for node in nodes if node.name == plain and module in ("", node.module)), None)


class Schema:
    """All modules of a folder together."""

    def __init__(self, files: Sequence[Path]) -> None:
        folder = str(files[0].parent)
        self.files = list(files)
        self._context = context.Context(repository.FileRepository(folder, use_env=False))
        texts = [(str(file), io.open(file, encoding="utf-8").read()) for file in files]
        self._modules = [self._context.add_module(name, text) for name, text in texts]
        self._context.validate()

    def top(self, name: str) -> Optional[Node]:
        """A container, list, leaf, operation or notification at the top of a module."""
        tops = (node for module in self._modules if module for node in _seen_through(module))
        return _named(tops, name)
