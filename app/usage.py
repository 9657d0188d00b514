"""The rate limits of an application: how many requests of each kind a client may send."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from app.clients import Client
from app.config import Settings
from app.rate import Limit, Rate
from app.store.counts import Counts, Share
from app.store.database import Database

_MINUTE_S = 60.0
_DAY_S = 86_400.0
_BY_ADDRESS_ONLY = frozenset({"link bytes"})

UNLIMITED: Mapping[str, int] = dict.fromkeys(
    ("uploads_per_minute", "jobs_per_minute", "links_per_minute", "reports_per_minute"), 0
)
"""Settings without rate limits, for an application that only one program uses."""


class Usage:
    """Counts the requests of clients, and refuses those beyond the limits.

    Checks of typed texts are counted in the memory of the process, all others in the database.
    """

    def __init__(self, database: Database, settings: Settings) -> None:
        self.limits = limits(settings)
        self.sessions_per_address = settings.sessions_per_address
        self.counts = Counts(database)
        self.texts = Rate(Limit(settings.texts_per_minute, _MINUTE_S))

    def count(self, kind: str, client: Client, amount: int = 1) -> None:
        """Count a request. Errors: TooMany."""
        if kind == "texts":
            self.texts.count(client.key)
        else:
            self.counts.add(kind, self._shares(kind, client), amount)

    def _shares(self, kind: str, client: Client) -> list[Share]:
        limit = self.limits[kind]
        if kind in _BY_ADDRESS_ONLY:
            return [Share(client.address_key, "address", limit)]
        everyone = replace(limit, n=limit.n * self.sessions_per_address)
        return [
            Share(client.key, "client", limit),
            Share(client.address_key, "address", everyone),
        ]


def limits(settings: Settings) -> Mapping[str, Limit]:
    """Return the limits that are counted in the database, by kind of request."""
    return {
        "uploads": Limit(settings.uploads_per_minute, _MINUTE_S),
        "jobs": Limit(settings.jobs_per_minute, _MINUTE_S),
        "links": Limit(settings.links_per_minute, _MINUTE_S),
        "link bytes": Limit(settings.links_bytes_per_day, _DAY_S, "bytes of links"),
        "reports": Limit(settings.reports_per_minute, _MINUTE_S),
    }
