"""Jobs with their leases, the events of jobs, and supervisors."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def _column(name: str, kind: sa.types.TypeEngine[Any], *, unique: bool = False) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=False, unique=unique or None)


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(40), primary_key=True),
        _column("serial", sa.BigInteger(), unique=True),
        _column("kind", sa.String(40)),
        _column("request", sa.Text()),
        _column("digest", sa.String(64)),
        _column("private", sa.Text()),
        _column("examined", sa.String(40)),
        _column("model_name", sa.Text()),
        _column("form", sa.String(40)),
        _column("created_s", sa.Double()),
        _column("queue", sa.String(16)),
        _column("priority", sa.Integer()),
        _column("client", sa.String(200)),
        _column("pane", sa.String(60)),
        _column("position", sa.Integer()),
        sa.Column("wait_s", sa.Double()),
        _column("state", sa.String(16)),
        _column("attempt", sa.Integer()),
        _column("max_attempts", sa.Integer()),
        _column("crashes", sa.Integer()),
        _column("owner", sa.String(120)),
        _column("machine", sa.String(80)),
        _column("heartbeat_s", sa.Double()),
        _column("lease_until_s", sa.Double()),
        _column("is_cancelled", sa.Boolean()),
        _column("is_stopped", sa.Boolean()),
        _column("phase", sa.String(60)),
        _column("n_stages", sa.Integer()),
        _column("n_events", sa.Integer()),
        _column("error", sa.Text()),
        _column("started_s", sa.Double()),
        _column("ended_s", sa.Double()),
        _column("n_clients", sa.Integer()),
        _column("n_followed", sa.Integer()),
        _column("seen_s", sa.Double()),
    )
    op.create_index("ix_jobs_state", "jobs", ["state", "serial"])
    op.create_index("ix_jobs_ended_s", "jobs", ["ended_s"])
    op.create_index("ix_jobs_digest", "jobs", ["digest"])
    op.create_index("ix_jobs_examined", "jobs", ["examined"])
    op.create_table(
        "job_events",
        sa.Column(
            "job_id", sa.String(40), sa.ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True
        ),
        sa.Column("number", sa.Integer(), primary_key=True, autoincrement=False),
        _column("name", sa.String(40)),
        _column("data", sa.Text()),
    )
    op.create_table(
        "supervisors",
        sa.Column("name", sa.String(120), primary_key=True),
        _column("machine", sa.String(80)),
        _column("heartbeat_s", sa.Double()),
    )


def downgrade() -> None:
    """Remove the tables."""
    op.drop_table("supervisors")
    op.drop_table("job_events")
    op.drop_table("jobs")
