"""The figures of an application in the text format of Prometheus."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from typing import cast

from flask import Flask
from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from sqlalchemy.exc import SQLAlchemyError

from app.config import Settings
from app.jobs.census import Census, census
from app.jobs.queue import JobQueue
from app.metrics.folder import VARIABLE
from app.metrics.requests import RequestMetrics, observe
from app.metrics.stored import StoredBytes

log = logging.getLogger("compilarium.web")


class Current(Collector):
    """The current figures, read at each request."""

    def __init__(self, queue: JobQueue, stored: StoredBytes) -> None:
        self.queue = queue
        self.stored = stored

    def collect(self) -> Iterator[Metric]:
        """Yield the figures."""
        try:
            found = census(self.queue)
        except SQLAlchemyError as e:  # the other figures help to find the reason
            log.warning("the table of jobs cannot be read: %s", type(e).__name__)
        else:
            yield from _figures_of(found)
        stored = GaugeMetricFamily(
            "compilarium_stored_bytes", "Stored data, by folder.", labels=["folder"], unit="bytes"
        )
        for folder, n_bytes in sorted(self.stored.sizes().items()):
            stored.add_metric([folder], n_bytes)
        yield stored


def _figures_of(found: Census) -> Iterator[Metric]:
    jobs = GaugeMetricFamily(
        "compilarium_jobs", "Stored jobs, by kind and state.", labels=["kind", "state"]
    )
    for (kind, state), n in sorted(found.jobs.items()):
        jobs.add_metric([kind, state], n)
    yield jobs
    yield GaugeMetricFamily(
        "compilarium_queue_length", "Jobs that wait for a supervisor.", found.n_waiting
    )
    yield GaugeMetricFamily(
        "compilarium_supervisors", "Supervisors of jobs at work.", found.n_supervisors
    )


class Metrics:
    """The figures of an application; workers of one server share the counts of requests."""

    def __init__(self, app: Flask) -> None:
        settings: Settings = app.config["SETTINGS"]
        self.own = CollectorRegistry()
        self.current = Current(
            cast(JobQueue, app.extensions["jobs"]), StoredBytes(settings.data_folder)
        )
        observe(app, RequestMetrics(self.own))

    def text(self) -> bytes:
        """Return all figures."""
        shown = CollectorRegistry()
        if VARIABLE in os.environ:
            MultiProcessCollector(shown)
        else:
            shown.register(_Registered(self.own))
        ProcessCollector(registry=shown)
        shown.register(self.current)
        return generate_latest(shown)


class _Registered(Collector):
    """The figures of another registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry

    def collect(self) -> Iterator[Metric]:
        """Yield the figures."""
        yield from self.registry.collect()
