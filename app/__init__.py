"""The web application of Compilarium: a Flask application that uses the compiler.

`app` imports `compiler`, and `compiler` never imports `app`. Child processes compile models: see
jobs/. A module of `app` imports only modules before it in this list:

    paths -> disk -> glossary -> textdiff -> grouping -> drawing -> store -> rate -> security
          -> rounds -> arrays -> wire -> samples -> config -> errors -> assets -> chains -> union
          -> uploads -> written_child -> written -> jobs -> report -> api -> serve -> fixtures
          -> contract
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flask import Flask

    from app.config import Settings


def create_app(config: Settings | Mapping[str, Any] | None = None) -> Flask:
    """Create the application with its settings, stores, routes and error answers.

    `config` is Settings, or maps names of settings to values that replace the defaults.
    """
    from flask import Flask

    from app import api, assets, errors, security
    from app.config import Settings
    from app.jobs.queue import JobQueue
    from app.paths import site_folder
    from app.rate import Rate
    from app.store.database import Database, sqlite_url
    from app.store.links import LinkStore
    from app.uploads import UploadStore
    from app.written import TextReader

    settings = Settings.of(config)
    app = Flask(__name__, template_folder=str(site_folder("templates")), static_folder=None)
    app.config["SETTINGS"] = settings
    app.config["TRUSTED_HOSTS"] = list(settings.trusted_hosts) if settings.trusted_hosts else None
    app.config["MAX_CONTENT_LENGTH"] = settings.request_limit_bytes

    database = Database(settings.database_url or sqlite_url(settings.data_folder))
    app.extensions["database"] = database
    app.extensions["jobs"] = JobQueue(settings, database)
    app.extensions["uploads"] = UploadStore.of(settings)
    app.extensions["links"] = LinkStore(database, settings.links_limit, settings.links_bytes)
    app.extensions["rates"] = {
        "links": Rate(settings.links_per_minute, 60.0),
        "link bytes": Rate(settings.links_bytes_per_day, 86_400.0, "bytes of links"),
        "reports": Rate(settings.reports_per_minute, 60.0),
        "texts": Rate(settings.texts_per_minute, 60.0),
    }

    app.extensions["texts"] = TextReader(
        limit_s=settings.text_limit_s, memory_bytes=settings.memory_limit_bytes
    )

    security.register(app)
    errors.register(app)
    assets.register(app)
    api.register(app)
    return app
