"""The part of `doctor` about the sandbox: the self-test as findings and as a table."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table

from compilarium.finding import Finding
from compilarium.output import table
from compiler.units import seconds_text
from sandbox.selftest import Report

TOPIC = "sandbox"


def findings_of(report: Report) -> Iterator[Finding]:
    """Yield the state of the sandbox, each failed assertion, and the optional layers."""
    if report.obstacle:
        words = f"{report.obstacle}; models and code of other people must not run here"
        yield Finding(TOPIC, "missing", words, report.fix)
        return
    failed = [finding for finding in report.findings if not finding.ok]
    for finding in failed:
        words = f"{finding.claim} Found ({finding.way}): {finding.found}"
        yield Finding(f"{TOPIC}: {_spaced(finding.name)}", "broken", words, finding.fix)
    if not failed:
        words = f"{len(report.findings)} assertions hold, checked in {seconds_text(report.seconds)}"
        yield Finding(TOPIC, "ok", words)
    for layer in report.layers:
        state = "ok" if layer.is_used else "missing"
        yield Finding(f"{TOPIC}: {layer.name}", state, layer.found, layer.fix)


def assertions(report: Report) -> Table:
    """Return a table of all assertions, with the ways into the sandbox in which each holds."""
    claims: dict[str, list[str]] = {}
    for finding in report.findings:
        mark = finding.way if finding.ok else f"{finding.way}: no"
        claims.setdefault(finding.claim, []).append(mark)
    rows = [(claim, ", ".join(ways)) for claim, ways in claims.items()]
    return table(["assertion about the sandbox", "holds"], rows)


def _spaced(name: str) -> str:
    return name.replace("_", " ")
