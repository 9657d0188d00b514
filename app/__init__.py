"""The web application of Compilarium: a Flask application that uses the compiler.

`app` imports `compiler`, and `compiler` never imports `app`. Child processes compile models: see
jobs/. A module of `app` imports only modules before it in this list:

    paths -> disk -> glossary -> textdiff -> grouping -> drawing -> rate -> store -> security
          -> rounds -> compression -> arrays -> wire -> samples -> config -> configuration
          -> blob_store -> logs -> clients -> usage -> quotas -> errors -> learn -> assets -> chains
          -> union -> uploads -> jobs -> written -> metrics -> readiness -> operations -> cleanup
          -> data -> report -> api -> gunicorn_server -> serve -> fixtures -> contract
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
    from werkzeug.middleware.proxy_fix import ProxyFix

    from app import api, assets, clients, compression, errors, operations, security
    from app.config import Settings
    from app.jobs.queue import JobQueue
    from app.learn import pages
    from app.paths import site_folder
    from app.store.answers import AnswerStore
    from app.store.database import Database
    from app.store.links import LinkStore
    from app.uploads import UploadStore
    from app.usage import Usage
    from app.written import TextReader

    settings = Settings.of(config)
    app = Flask(__name__, template_folder=str(site_folder("templates")), static_folder=None)
    if n := settings.trusted_proxies:
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=n, x_proto=n, x_host=n)
    app.config["SETTINGS"] = settings
    app.config["TRUSTED_HOSTS"] = list(settings.trusted_hosts) if settings.trusted_hosts else None
    app.config["MAX_CONTENT_LENGTH"] = settings.request_limit_bytes

    database = Database(settings.used_database_url)
    app.extensions["database"] = database
    app.extensions["jobs"] = jobs = JobQueue(settings, database)
    app.extensions["uploads"] = UploadStore.of(settings, lambda: jobs.needed().uploads)
    app.extensions["links"] = LinkStore(database, settings.links_limit, settings.links_bytes)
    app.extensions["usage"] = Usage(database, settings)
    app.extensions["answers"] = AnswerStore(database)
    app.extensions["texts"] = TextReader(
        app.extensions["jobs"].runner,
        limit_s=settings.text_limit_s,
        memory_bytes=settings.memory_limit_bytes,
    )

    operations.register(app)
    compression.register(app)
    security.register(app)
    clients.register(app)
    errors.register(app)
    assets.register(app)
    pages.register(app)
    api.register(app)
    return app
