"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make every table of version 0001."""
    op.create_table(
        "annotation",
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("schema_version", sa.Integer(), nullable=False),
        sa.Column("body", sa.String(), nullable=False),
        sa.Column("rater", sa.String(), nullable=False),
        sa.Column("scale", sa.String(), nullable=False),
        sa.Column("conversation", sa.String(), nullable=True),
        sa.Column("other", sa.String(), nullable=True),
        sa.Column("turn", sa.Integer(), nullable=True),
        sa.Column("criterion", sa.String(), nullable=True),
        sa.Column("run", sa.String(), nullable=True),
        sa.Column("supersedes", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index(op.f("ix_annotation_conversation"), "annotation", ["conversation"], unique=False)
    op.create_index(op.f("ix_annotation_id"), "annotation", ["id"], unique=True)
    op.create_index(op.f("ix_annotation_rater"), "annotation", ["rater"], unique=False)
    op.create_index(op.f("ix_annotation_run"), "annotation", ["run"], unique=False)
    op.create_index(op.f("ix_annotation_scale"), "annotation", ["scale"], unique=False)
    op.create_table(
        "assignment",
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("schema_version", sa.Integer(), nullable=False),
        sa.Column("body", sa.String(), nullable=False),
        sa.Column("rater", sa.String(), nullable=True),
        sa.Column("batch", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index(op.f("ix_assignment_id"), "assignment", ["id"], unique=True)
    op.create_index(op.f("ix_assignment_rater"), "assignment", ["rater"], unique=False)
    op.create_table(
        "call",
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("schema_version", sa.Integer(), nullable=False),
        sa.Column("body", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("purpose", sa.String(), nullable=False),
        sa.Column("good", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index(op.f("ix_call_id"), "call", ["id"], unique=True)
    op.create_index(op.f("ix_call_key"), "call", ["key"], unique=False)
    op.create_table(
        "cell",
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("schema_version", sa.Integer(), nullable=False),
        sa.Column("body", sa.String(), nullable=False),
        sa.Column("run", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index(op.f("ix_cell_id"), "cell", ["id"], unique=True)
    op.create_index(op.f("ix_cell_run"), "cell", ["run"], unique=False)
    op.create_table(
        "conversation",
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("schema_version", sa.Integer(), nullable=False),
        sa.Column("body", sa.String(), nullable=False),
        sa.Column("task", sa.String(), nullable=False),
        sa.Column("item", sa.String(), nullable=False),
        sa.Column("participant", sa.String(), nullable=False),
        sa.Column("assistant", sa.String(), nullable=False),
        sa.Column("origin", sa.String(), nullable=False),
        sa.Column("run", sa.String(), nullable=True),
        sa.Column("cell", sa.String(), nullable=True),
        sa.Column("strategy", sa.String(), nullable=True),
        sa.Column("twin_of", sa.String(), nullable=True),
        sa.Column("content_hash", sa.String(), nullable=True),
        sa.Column("import_key", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("seq"),
        sa.UniqueConstraint("cell"),
        sa.UniqueConstraint("import_key"),
    )
    op.create_index(op.f("ix_conversation_id"), "conversation", ["id"], unique=True)
    op.create_index(op.f("ix_conversation_item"), "conversation", ["item"], unique=False)
    op.create_index(op.f("ix_conversation_run"), "conversation", ["run"], unique=False)
    op.create_index(op.f("ix_conversation_task"), "conversation", ["task"], unique=False)
    op.create_index(op.f("ix_conversation_twin_of"), "conversation", ["twin_of"], unique=False)
    op.create_table(
        "criterion",
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("schema_version", sa.Integer(), nullable=False),
        sa.Column("body", sa.String(), nullable=False),
        sa.Column("family", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index(op.f("ix_criterion_id"), "criterion", ["id"], unique=True)
    op.create_table(
        "failure",
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("schema_version", sa.Integer(), nullable=False),
        sa.Column("body", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("cell", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index(op.f("ix_failure_cell"), "failure", ["cell"], unique=False)
    op.create_index(op.f("ix_failure_id"), "failure", ["id"], unique=True)
    op.create_table(
        "item",
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("schema_version", sa.Integer(), nullable=False),
        sa.Column("body", sa.String(), nullable=False),
        sa.Column("task", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index(op.f("ix_item_id"), "item", ["id"], unique=True)
    op.create_index(op.f("ix_item_key"), "item", ["key"], unique=False)
    op.create_index(op.f("ix_item_task"), "item", ["task"], unique=False)
    op.create_table(
        "meta",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("value", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "participant",
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("schema_version", sa.Integer(), nullable=False),
        sa.Column("body", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index(op.f("ix_participant_id"), "participant", ["id"], unique=True)
    op.create_table(
        "profile",
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("schema_version", sa.Integer(), nullable=False),
        sa.Column("body", sa.String(), nullable=False),
        sa.Column("task", sa.String(), nullable=False),
        sa.Column("conversation", sa.String(), nullable=False),
        sa.Column("participant", sa.String(), nullable=False),
        sa.Column("extractor", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index(op.f("ix_profile_conversation"), "profile", ["conversation"], unique=False)
    op.create_index(op.f("ix_profile_id"), "profile", ["id"], unique=True)
    op.create_table(
        "rater",
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("schema_version", sa.Integer(), nullable=False),
        sa.Column("body", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index(op.f("ix_rater_id"), "rater", ["id"], unique=True)
    op.create_table(
        "run",
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("schema_version", sa.Integer(), nullable=False),
        sa.Column("body", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index(op.f("ix_run_id"), "run", ["id"], unique=True)
    op.create_index(op.f("ix_run_name"), "run", ["name"], unique=False)
    op.create_table(
        "scale",
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("schema_version", sa.Integer(), nullable=False),
        sa.Column("body", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index(op.f("ix_scale_id"), "scale", ["id"], unique=True)
