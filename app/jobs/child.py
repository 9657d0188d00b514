"""A child process for a single job: forked, monitored, and killed when it exceeds a limit.

The child is in an enclosure (enclosure.py) that ends with it, so no descendant survives the child.
Its task arrives on its standard input (task.py), and its results leave through its pipe
(frames.py). See worker.py for the code that the child runs.
"""

from __future__ import annotations

import json
import logging
from contextlib import suppress
from pathlib import Path

from app.jobs.fork_server import ForkServer
from app.jobs.isolation import Isolation
from app.jobs.listener import Listener, Supervision
from app.jobs.measuring_slot import MeasuringSlot
from app.jobs.task import Task

log = logging.getLogger("compilarium.jobs")


class Child:
    """A worker process for a single task. The server writes the log file of the process after the
    process has ended."""

    def __init__(
        self,
        task: Task,
        isolation: Isolation,
        fork_server: ForkServer,
        log_file: Path,
        slot: MeasuringSlot,
    ) -> None:
        self.log_file = log_file
        self.slot = slot
        enclosure, self.task = isolation.enclose(task)
        try:
            self.process = fork_server.fork(enclosure)
        except BaseException:
            enclosure.close()
            raise

    def run(self, how: Supervision) -> None:
        """Run the task, and forward the events of the child until the child ends.

        Errors: the errors that the child reports; E-LIMIT-SECONDS, E-LIMIT-MEMORY, E-LIMIT-OUTPUT
        and E-LIMIT-CRASH, found by monitoring or by the child's exit status; OSError if the results
        cannot be stored. If the job is cancelled, the function returns early, without an error.
        """
        try:
            with self.slot.member(self.process) as member:
                listener = Listener(self.process, self.slot, member, how)
                try:
                    self._start()
                    listener.listen()
                finally:
                    self._keep_log(listener.log)
        finally:
            self.process.stop()

    def _start(self) -> None:
        with suppress(BrokenPipeError):  # the child has died already: the listener finds the reason
            self.process.stdin.write(json.dumps(self.task.to_json()).encode() + b"\n")
            self.process.stdin.flush()

    def _keep_log(self, text: bytes) -> None:
        if not text:
            return
        try:
            self.log_file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.log_file.write_bytes(text)
        except OSError as e:
            log.warning("the log of a child could not be written: %s", e.strerror)
