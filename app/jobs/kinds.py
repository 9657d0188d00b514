"""The kinds of jobs that a child can do."""

from __future__ import annotations

from app.jobs.compile import compile_model, inspect_model
from app.jobs.worker import Work

KINDS: dict[str, Work] = {"compile": compile_model, "inspect": inspect_model}
