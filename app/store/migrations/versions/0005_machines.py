"""The kinds of machines that run jobs, and the sizes of results."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

_JOBS = ("processor", "needs")


def upgrade() -> None:
    """Add the columns; the machines of earlier jobs are unknown."""
    with op.batch_alter_table("jobs") as table:
        for name in _JOBS:
            table.add_column(sa.Column(name, sa.String(40), nullable=False, server_default=""))
        table.add_column(sa.Column("n_bytes", sa.BigInteger, nullable=False, server_default="0"))
    with op.batch_alter_table("supervisors") as table:
        table.add_column(sa.Column("processor", sa.String(40), nullable=False, server_default=""))
        table.add_column(sa.Column("facts", sa.Text, nullable=False, server_default="{}"))


def downgrade() -> None:
    """Remove the columns."""
    with op.batch_alter_table("supervisors") as table:
        table.drop_column("facts")
        table.drop_column("processor")
    with op.batch_alter_table("jobs") as table:
        for name in ("n_bytes", *_JOBS):
            table.drop_column(name)
