"""Short links."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the table of links."""
    op.create_table(
        "links",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("digest", sa.String(64), nullable=False, unique=True),
        sa.Column("fragment", sa.Text, nullable=False),
        sa.Column("other", sa.Text, nullable=False),
        sa.Column("made_with", sa.String(40), nullable=False),
        sa.Column("created_s", sa.Double, nullable=False),
    )


def downgrade() -> None:
    """Remove the table."""
    op.drop_table("links")
