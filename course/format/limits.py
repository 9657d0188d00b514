"""Limits on the text of a lesson, and the check of its characters."""

from __future__ import annotations

import re

from compiler.errors import CompileError, Where

MOST_CHARACTERS = 400_000
"""Maximum length of a lesson's text."""
MOST_BLOCKS = 500
"""Maximum number of blocks of a lesson, prose included."""
LONGEST_LINE = 20_000
MOST_OPTIONS = 20
"""Maximum number of options of a block."""
LONGEST_VALUE = 1_000
"""Maximum length of the value of an option."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def checked(text: str, source: str) -> str:
    """Return the text with line feeds as line ends, if its size and characters are acceptable.

    Errors: E-LESSON-SIZE, E-LESSON-TEXT for control characters.
    """
    if len(text) > MOST_CHARACTERS:
        message = f"the text has {len(text):,} characters; the limit is {MOST_CHARACTERS:,}"
        raise CompileError("E-LESSON-SIZE", message, where=Where(source))
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > LONGEST_LINE:
            message = f"the line has {len(line):,} characters; the limit is {LONGEST_LINE:,}"
            raise CompileError("E-LESSON-SIZE", message, where=Where(source, number, 1))
        found = _CONTROL.search(line)
        if found:
            message = f"the line has the control character {found[0]!r}"
            where = Where(source, number, found.start() + 1, 1)
            raise CompileError("E-LESSON-TEXT", message, where=where, hint="remove the character")
    return text
