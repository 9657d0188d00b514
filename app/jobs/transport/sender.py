"""Sends the jobs of the table to the workers of a Dask cluster, while the cluster is reachable.

A new sender continues from the table. A sender's record of sent jobs only avoids repeated sending,
which would have no effect.
"""

from __future__ import annotations

import logging
import secrets
import threading
from collections import Counter
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic

from sqlalchemy.exc import SQLAlchemyError

from app.config import Settings
from app.jobs.transport.cluster import Cluster, Ticket, event_loop
from app.jobs.transport.plan import Choice, choices
from app.jobs.transport.roster import Roster
from app.jobs.transport.tasks import RAN, REFUSED
from app.store.database import Database
from app.store.jobs import leases, reading, supervisors
from app.store.jobs.order import BENCH
from app.store.jobs.reading import Line

log = logging.getLogger("compilarium.jobs")

_LOOK_S = 1.0
_PAUSE_S = 0.02
"""Minimum time between two rounds; each change of the database begins a round."""
_REFUSED_S, _LOST_S = 1.0, 0.2
"""Time until a job is sent again that a worker has refused, or whose task was lost."""
_SILENT_S = 10.0
_REPORTS = 2.5
"""Reports to operators in the time of a lease."""
_END_S = 3.0


@dataclass(frozen=True, slots=True)
class Sent:
    """An attempt of a job that was sent to one of these workers."""

    attempt: int
    addresses: frozenset[str]
    ticket: Ticket


class Sender:
    """Sends jobs in a thread until `stop`; another thread reports to operators."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self.database, self.settings = database, settings
        self.stopping = threading.Event()
        self.name = f"sender/{secrets.token_hex(6)}"
        self._problem = self._absent("yet")
        self._round_s = monotonic()
        self._sent: dict[str, Sent] = {}
        self._held_back: dict[str, float] = {}
        """Jobs that were refused or lost, and when they may be sent again."""
        self._threads = [
            threading.Thread(target=work, name=f"dask{work.__name__}", daemon=True)
            for work in (self._send, self._report)
        ]

    def start(self) -> None:
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Send no more jobs. Jobs that run on workers continue."""
        self.stopping.set()
        self.database.watch.poke()
        for thread in self._threads:
            thread.join(timeout=_END_S)
        with suppress(SQLAlchemyError, OSError), self.database.changing() as connection:
            supervisors.leave(connection, self.name)

    # Reports.

    def _report(self) -> None:
        told, told_s = "", 0.0
        every_s = self.settings.lease_s / _REPORTS
        while not self.stopping.wait(min(_LOOK_S, every_s) / 4):
            problem = self._trouble()
            if told_s and problem == told and monotonic() - told_s < every_s:
                continue
            if problem != told:
                log.warning("%s", problem or "the Dask cluster runs jobs")
            try:
                with self.database.changing() as connection:
                    supervisors.report_sender(connection, self.name, problem)
                told, told_s = problem, monotonic()
            except (SQLAlchemyError, OSError) as e:
                log.warning("the state of the Dask cluster cannot be written: %s", e)

    def _trouble(self) -> str:
        is_silent = monotonic() - self._round_s > _SILENT_S
        return self._absent("any more") if is_silent else self._problem

    def _absent(self, words: str) -> str:
        return f"the Dask scheduler {self.settings.scheduler} does not answer {words}; jobs wait"

    # The connection.

    def _send(self) -> None:
        with event_loop() as loop:
            while not self.stopping.is_set():
                self._round_s = monotonic()
                try:
                    cluster = Cluster(self.settings, loop)
                except Exception as e:  # of the network, of TLS, or of another version of Dask
                    self._problem = self._absent(f"({type(e).__name__})")
                    self.stopping.wait(_LOOK_S)
                    continue
                try:
                    self._use(cluster)
                finally:
                    self._sent.clear()
                    cluster.close()

    def _use(self, cluster: Cluster) -> None:
        """Send jobs until the connection is lost."""
        watch, roster = self.database.watch, Roster()
        looked_s = 0.0
        while not self.stopping.wait(_PAUSE_S) and cluster.is_connected:
            seen = watch.n
            self._round_s = monotonic()
            is_due = self._round_s - looked_s >= _LOOK_S
            try:
                self._round(cluster, roster, is_due=is_due)
            except ConnectionError:
                return
            except Exception as e:
                log.warning("jobs cannot be sent", exc_info=e)
                self.stopping.wait(_LOOK_S)
            looked_s = self._round_s if is_due else looked_s
            watch.wait(seen, _LOOK_S)

    # A round.

    def _round(self, cluster: Cluster, roster: Roster, *, is_due: bool) -> None:
        self._note_ended()
        with self.database.looking() as connection:
            line = reading.line(connection)
            held = Counter(each.lease.owner for each in leases.all_held(connection))
            at_work = supervisors.at_work(connection, self.settings.lease_s)
        if is_due:
            roster.look(cluster, at_work)
        places = roster.places(at_work, held)
        self._problem = roster.problem(places)
        self._forget_stale(line, {place.address for place in places})
        queued = {job.id for job in line.queued}
        on_way = {i: sent.addresses for i, sent in self._sent.items() if i in queued}
        per_client = self.settings.running_per_client
        for choice in choices(line, places, on_way, self._held_back, per_client=per_client):
            self._send_one(cluster, choice)

    def _send_one(self, cluster: Cluster, choice: Choice) -> None:
        job, attempt = choice.job, choice.job.attempt + 1
        ticket = cluster.send(job.id, attempt, choice.addresses, measures=job.queue == BENCH)
        self._sent[job.id] = Sent(attempt, choice.addresses, ticket)
        ticket.future.add_done_callback(lambda _: self.database.watch.poke())

    def _note_ended(self) -> None:
        now = monotonic()
        self._held_back = {i: until_s for i, until_s in self._held_back.items() if until_s > now}
        for job_id, sent in list(self._sent.items()):
            if not sent.ticket.is_done:
                continue
            del self._sent[job_id]
            answer = sent.ticket.answer()
            if answer != RAN:
                self._held_back[job_id] = now + (_REFUSED_S if answer else _LOST_S)
            if answer not in (RAN, REFUSED):
                reason = answer or sent.ticket.failure()
                log.warning("job %s, attempt %d was not run: %s", job_id, sent.attempt, reason)

    def _forget_stale(self, line: Line, usable: Collection[str]) -> None:
        """Forget the attempts that are over, and those whose workers left without claiming them."""
        claimed = {(job.id, job.attempt) for job in line.running}
        awaited = {(job.id, job.attempt + 1) for job in line.queued}
        for job_id, sent in list(self._sent.items()):
            key = (job_id, sent.attempt)
            can_begin = key in awaited and not sent.addresses.isdisjoint(usable)
            if key not in claimed and not can_begin:
                del self._sent[job_id]
