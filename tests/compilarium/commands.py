"""Helpers that run commands as a shell does."""

import json
from typing import Any

from click.testing import CliRunner, Result

from compilarium.group import commands


def invoke(*args: object) -> Result:
    result = CliRunner().invoke(commands, [str(a) for a in args])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def told(*args: object, code: int = 0) -> Any:
    """Return the JSON output of a command; its error stream must contain no traceback."""
    result = invoke(*args, "--json")
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.stderr
    return json.loads(result.stdout)
