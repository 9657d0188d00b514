"""Counters of limited requests, and answers to requests with an Idempotency-Key."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Create the two tables."""
    op.create_table(
        "counts",
        sa.Column("kind", sa.String(32), primary_key=True),
        sa.Column("client", sa.String(32), primary_key=True),
        sa.Column("number", sa.BigInteger, primary_key=True),
        sa.Column("n", sa.BigInteger, nullable=False),
        sa.Column("forget_s", sa.Double, nullable=False, index=True),
    )
    op.create_table(
        "answers",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("request", sa.String(64), nullable=False),
        sa.Column("status", sa.Integer, nullable=False),
        sa.Column("location", sa.Text, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("created_s", sa.Double, nullable=False, index=True),
    )


def downgrade() -> None:
    """Remove the tables."""
    op.drop_table("answers")
    op.drop_table("counts")
