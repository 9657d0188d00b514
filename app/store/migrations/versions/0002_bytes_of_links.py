"""Size of the texts of a link, in bytes."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the column, and fill it with the total length of each link's two ASCII texts."""
    op.add_column("links", sa.Column("n_bytes", sa.BigInteger, nullable=False, server_default="0"))
    op.execute("UPDATE links SET n_bytes = length(fragment) + length(other)")
    op.create_index("ix_links_n_bytes", "links", ["n_bytes"])


def downgrade() -> None:
    """Remove the column."""
    op.drop_index("ix_links_n_bytes", "links")
    op.drop_column("links", "n_bytes")
