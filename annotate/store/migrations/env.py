"""Alembic's entry: runs on the connection that the store hands over."""

from alembic import context
from sqlmodel import SQLModel

import annotate.store.tables  # noqa: F401  (declares the tables)

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=SQLModel.metadata, transactional_ddl=True)
with context.begin_transaction():
    context.run_migrations()
