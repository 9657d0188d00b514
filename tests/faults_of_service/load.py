"""Clients that submit jobs, and remember those that the service has accepted."""

from __future__ import annotations

import http.client
import itertools
import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

_OPTIONS = {"measure": False, "check": False, "accuracy": False}


_REFUSALS = (503, 507)
"""Answers of a server whose database, disk or processes cannot be used at the moment."""


class Load:
    """Threads that submit jobs; `accepted` maps the ids of accepted jobs to their seeds."""

    def __init__(self, port: Callable[[], int], n_clients: int, at_most: int) -> None:
        self.port, self.at_most = port, at_most
        self.accepted: dict[str, int] = {}
        self.refused: Counter[int] = Counter()
        self.unexpected: list[str] = []
        self._seeds = itertools.count()
        self._stopped = threading.Event()
        self._threads = [threading.Thread(target=self._submit) for _ in range(n_clients)]

    def start(self) -> None:
        """Start the clients."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End the clients."""
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def _submit(self) -> None:
        while not self._stopped.wait(0.05):
            if self.n_open() >= self.at_most:
                continue
            seed = next(self._seeds)
            body = {
                "kind": "compile",
                "model": {"sample": "digits_mlp"},
                "options": {**_OPTIONS, "seed": seed},
            }
            try:
                status, payload = self.ask("POST", "/api/v1/jobs", body)
            except (OSError, http.client.HTTPException, ValueError):
                time.sleep(0.1)  # the server was killed: this client does not know of a job
                continue
            if status == 202:
                self.accepted[payload["id"]] = seed
            elif status in _REFUSALS:
                self.refused[status] += 1
                time.sleep(0.1)
            else:
                self.unexpected.append(f"{status}: {payload}")

    def n_open(self) -> int:
        """Return an upper bound of the number of jobs that have not ended."""
        return len(self.accepted) - self.n_ended

    n_ended = 0
    """The number of ended jobs, which the harness counts now and then."""

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Send a request. Errors: OSError, HTTPException and ValueError."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port(), timeout=60)
        try:
            connection.request(method, path, json.dumps(body) if body else None)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()
