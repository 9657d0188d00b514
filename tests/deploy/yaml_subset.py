"""A reader of the part of YAML that compose.yaml uses; anything else is an error.

Mappings and lists in blocks, lists in one line as in JSON, plain and quoted texts, comments, and
anchors of mappings with their merges (`<<: *name`).
"""

from __future__ import annotations

import json
import re
from typing import Any

_ENTRY = re.compile(r"(?P<key>[\w<.-]+):(?: +(?P<rest>\S.*))?")
_PLAIN = re.compile(r"[\w./~][\w./:=,@ -]*")
_ANCHOR = re.compile(r"&(\w+)")


class Reader:
    """Reads one document. Errors: ValueError, with the line."""

    def __init__(self, text: str) -> None:
        self.lines = [
            (number, len(line) - len(line.lstrip(" ")), line.strip())
            for number, line in enumerate(text.splitlines(), 1)
            if line.strip() and not line.lstrip().startswith("#")
        ]
        self.at = 0
        self.anchors: dict[str, Any] = {}

    def document(self) -> Any:
        """Return the content."""
        found = self._block(0)
        if self.at < len(self.lines):
            raise self._error("is not indented like the lines before")
        return found

    def _block(self, indent: int) -> Any:
        if self.lines[self.at][2].startswith("- "):
            return self._list(indent)
        return self._mapping(indent)

    def _list(self, indent: int) -> list[Any]:
        found: list[Any] = []
        while self._continues(indent) and self.lines[self.at][2].startswith("- "):
            found.append(self._scalar(self.lines[self.at][2][2:].strip()))
            self.at += 1
        return found

    def _mapping(self, indent: int) -> dict[str, Any]:
        own: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        while self._continues(indent):
            entry = _ENTRY.fullmatch(self.lines[self.at][2])
            if entry is None:
                raise self._error("is no entry of a mapping")
            key, rest = entry["key"], entry["rest"] or ""
            if key in own:
                raise self._error("repeats a key")
            if key == "<<":
                merged |= self.anchors[rest.removeprefix("*")]
                self.at += 1
            else:
                own[key] = self._value(indent, rest)
        return merged | own

    def _value(self, indent: int, rest: str) -> Any:
        anchor = _ANCHOR.fullmatch(rest)
        if rest and anchor is None:
            found = self._scalar(rest)
            self.at += 1
            return found
        self.at += 1
        below = self.lines[self.at][1] if self.at < len(self.lines) else -1
        found = self._block(below) if below > indent else None
        if anchor is not None:
            self.anchors[anchor[1]] = found
        return found

    def _continues(self, indent: int) -> bool:
        if self.at == len(self.lines) or self.lines[self.at][1] < indent:
            return False
        if self.lines[self.at][1] > indent:
            raise self._error("is not indented like the lines before")
        return True

    def _scalar(self, text: str) -> Any:
        if text.startswith(("[", '"')):
            return json.loads(text)
        if text in ("true", "false"):
            return text == "true"
        if re.fullmatch(r"\d+", text):
            return int(text)
        if _PLAIN.fullmatch(text) and ": " not in text:
            return text
        raise self._error("has a value of another form")

    def _error(self, words: str) -> ValueError:
        number, _, text = self.lines[min(self.at, len(self.lines) - 1)]
        return ValueError(f"line {number} {words}: {text}")
