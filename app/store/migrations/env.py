"""Entry point of alembic: runs the migrations of versions/ on the given connection."""

from alembic import context

from app.store.models import Base

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=Base.metadata, render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
