"""The workers of a Dask cluster, and the supervisors in their processes.

A worker receives jobs only while its supervisor reports to the table of this installation. So
workers of other programs, or with another database, receive none.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from time import monotonic

from app.jobs.transport.cluster import Cluster, DaskWorker, Ticket
from app.jobs.transport.plan import Place
from app.jobs.transport.tasks import OWNER, PROBLEM
from app.store.jobs.supervisors import Machine
from app.wire import form

log = logging.getLogger("compilarium.jobs")

_AGAIN_S = 5.0
"""A worker that cannot run jobs is asked again after this time in seconds."""


class Roster:
    """Knows which workers of a connected cluster can run jobs."""

    def __init__(self) -> None:
        self.workers: Mapping[str, DaskWorker] = {}
        self._owners: dict[str, str] = {}
        """The names of supervisors by the addresses of their workers."""
        self._asked: dict[str, Ticket] = {}
        self._again_s: dict[str, float] = {}
        self._refusals: dict[str, str] = {}

    def look(self, cluster: Cluster, at_work: Mapping[str, Machine]) -> None:
        """Detect workers that joined or left, and let new workers start their supervisors.

        `at_work` are the machines of the supervisors that report, by their names.
        """
        self.workers = cluster.workers()
        for known in (self._owners, self._asked, self._again_s, self._refusals):
            for address in known.keys() - self.workers.keys():
                del known[address]
        self._hear_answers()
        now = monotonic()
        for address in self.workers:
            is_new = self._owners.get(address) not in at_work and address not in self._asked
            if is_new and now >= self._again_s.get(address, 0.0):
                self._asked[address] = cluster.enlist(address, form())
                self._again_s[address] = now + _AGAIN_S

    def places(self, at_work: Mapping[str, Machine], held: Mapping[str, int]) -> list[Place]:
        """Return the workers that can run jobs; `held` counts the leases of supervisors."""
        found: list[Place] = []
        for address, worker in self.workers.items():
            owner = self._owners.get(address, "")
            if machine := at_work.get(owner):
                n_free = worker.n_threads - held.get(owner, 0)
                found.append(
                    Place(address, machine.name, machine.processor, n_free, worker.measures)
                )
        return found

    def problem(self, places: list[Place]) -> str:
        """Return why no worker can run jobs; "" if one can."""
        if places:
            return ""
        if not self.workers:
            return "the Dask cluster has no workers; jobs wait"
        refusal = next(iter(self._refusals.values()), "its supervisor has not reported yet")
        return f"no worker of the Dask cluster can run jobs ({refusal}); jobs wait"

    def _hear_answers(self) -> None:
        for address, ticket in list(self._asked.items()):
            if ticket.is_done:
                del self._asked[address]
                self._note(address, ticket)

    def _note(self, address: str, ticket: Ticket) -> None:
        answer = ticket.answer() or {}
        if owner := answer.get(OWNER):
            self._owners[address] = owner
            self._refusals.pop(address, None)
            return
        problem = answer.get(PROBLEM) or ticket.failure()
        if self._refusals.get(address) != problem:
            log.warning("the Dask worker %s cannot run jobs: %s", address, problem)
        self._refusals[address] = problem
