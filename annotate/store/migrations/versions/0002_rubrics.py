"""Rubrics, and the sets that they are frozen in."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the tables of rubrics and rubric sets."""
    op.create_table(
        "rubric",
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("schema_version", sa.Integer(), nullable=False),
        sa.Column("body", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("item", sa.String(), nullable=False),
        sa.Column("writer", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index(op.f("ix_rubric_id"), "rubric", ["id"], unique=True)
    op.create_index(op.f("ix_rubric_item"), "rubric", ["item"], unique=False)
    op.create_index(op.f("ix_rubric_name"), "rubric", ["name"], unique=False)
    op.create_table(
        "rubric_set",
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("schema_version", sa.Integer(), nullable=False),
        sa.Column("body", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("content_hash", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
        sa.UniqueConstraint("name", "version"),
    )
    op.create_index(op.f("ix_rubric_set_content_hash"), "rubric_set", ["content_hash"], unique=False)
    op.create_index(op.f("ix_rubric_set_id"), "rubric_set", ["id"], unique=True)
