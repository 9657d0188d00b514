"""The child process of the pool: it reads case names and writes outcomes as JSON."""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable

from compiler.conformance.cases import Case, collect
from compiler.conformance.outcome import Outcome

Runner = Callable[[Case], Outcome]


def main(runner: str) -> None:
    """Print `ready`, then answer each line `[suite, name]` of the input with a line of JSON."""
    # Output of other code, including native libraries, must not be mixed with the answers.
    with os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8") as answers:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        run = _named(runner)
        print("ready", file=answers, flush=True)
        for line in sys.stdin:
            suite, name = json.loads(line)
            (case,) = (c for c in collect(suite) if c.name == name)
            print(json.dumps(run(case).to_json()), file=answers, flush=True)


def _named(runner: str) -> Runner:
    module, _, function = runner.partition(":")
    return getattr(importlib.import_module(module), function)


if __name__ == "__main__":
    main(sys.argv[1])
