"""Faults of the database: it is away, its connections end, and locks are held."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from contextlib import suppress

import psycopg

from tests.faults_of_service.scene import Scene
from tests.faults_of_service.stores import PostgresqlStore, SqliteStore


def go_away(scene: Scene) -> bool:
    """Stop the database, in an orderly way or not, and start it again."""
    scene.store.go_away(scene.outage_s(), is_orderly=scene.chance.random() < 0.5)
    return True


def hold_lock(scene: Scene) -> bool:
    """Hold a lock for a moment, and drop the connection without an end of the transaction."""
    seconds = scene.chance.uniform(0.0, 0.5)
    if isinstance(scene.store, SqliteStore):
        with suppress(sqlite3.OperationalError), scene.store.locked("IMMEDIATE"):
            time.sleep(seconds)
        return True
    assert isinstance(scene.store, PostgresqlStore)
    # A transaction of the service may lock in another order; PostgreSQL then ends one of the two.
    with suppress(psycopg.Error), scene.store.server.connect("service") as connection:
        connection.execute("BEGIN")
        connection.execute("SELECT FROM jobs FOR UPDATE")
        time.sleep(seconds)
    return True


def has_connections(scene: Scene) -> bool:
    """Return whether the database has processes of its own."""
    return isinstance(scene.store, PostgresqlStore)


def end_connections(scene: Scene) -> bool:
    """End connections of the service, as a broken network does."""
    assert isinstance(scene.store, PostgresqlStore)
    with scene.store.server.connect() as connection:
        for pid in scene.store.connections():
            if scene.chance.random() < 0.7:
                connection.execute("SELECT pg_terminate_backend(%s)", [pid])
    return True


def kill_connection(scene: Scene) -> bool:
    """Kill a process of the database's server, which then ends all others and recovers."""
    assert isinstance(scene.store, PostgresqlStore)
    found = scene.store.connections()
    if found:
        with suppress(ProcessLookupError):
            os.kill(scene.chance.choice(found), signal.SIGKILL)
        scene.store.server.wait()
    return bool(found)
