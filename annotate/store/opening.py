"""Open the database behind a store: version first, migration under a lock, SQLite in WAL mode."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, Table, create_engine, event, inspect, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError
from sqlalchemy.pool import QueuePool, StaticPool

from annotate.errors import MissingExtraError, StoreError, StoreVersionError
from annotate.store.tables import VERSION

_LOCK_NUMBER = 8_231_977  # any constant: names the migration among PostgreSQL's advisory locks
_BUSY_SECONDS = 30
THROWAWAY = "usercal-runs-"
"""How a temporary folder is called whose store is removed with it."""
_DRIVERS = ("sqlite", "sqlite+pysqlite", "postgresql", "postgresql+psycopg")


def shown(url: str) -> str:
    """Return the URL without a password; for SQLite the path."""
    try:
        parsed = make_url(url)
    except ArgumentError:
        return repr(url)
    return str(parsed.database) if _is_sqlite(parsed) else parsed.render_as_string(hide_password=True)


def open_engine(url: str, *, create: bool) -> Engine:
    """Return an engine on a store that is at the present version."""
    parsed = _parse(url)
    path = file_of(parsed)
    try:
        if path is not None:
            _check_path(path, create)
    except (OSError, ValueError) as error:  # no permission to look, a name that is too long or holds a NUL
        cause = getattr(error, "strerror", None) or error
        raise StoreError(f"store {path}: cannot be opened ({cause}). Check the path and its permissions.") from None
    fresh = path is not None and not path.exists()  # only what this call made is ever removed
    try:
        engine = _engine(parsed)
        found = _version(engine)
        if found != VERSION:
            _migrate(engine, parsed, url)
        return engine
    except (DBAPIError, OSError) as error:
        if fresh and path is not None:
            _remove(path)
        cause = str(getattr(error, "orig", error)).strip().splitlines()[0]
        raise StoreError(f"store {shown(url)}: cannot be opened: {cause}. {remedy(error)}") from None
    except ImportError as error:
        if "psycopg" in str(error):
            raise MissingExtraError("postgres", "a PostgreSQL store") from None
        raise StoreError(f"store {shown(url)}: its driver is not installed ({error}).") from None


def file_of(url: URL) -> Path | None:
    """Return the file of a SQLite store; None for one in memory or on a server."""
    kept = _is_sqlite(url) and url.database and url.database != ":memory:"
    return Path(str(url.database)) if kept else None


def remedy(error: Exception) -> str:
    """Return what to do about a failure of the database."""
    cause = str(getattr(error, "orig", error)).lower()
    if "full" in cause or "no space" in cause or "disk i/o" in cause or "too large" in cause:
        return "Free some space on that disk, or choose another place with --store."
    if "locked" in cause or "busy" in cause:
        return "Another process is writing; try again when it has finished."
    if "not a database" in cause or "malformed" in cause:
        return "That file is no UserCal store; choose another with --store."
    if "readonly" in cause or "read-only" in cause or "unable to open" in cause or "permission" in cause:
        return "Check that the folder exists and that you may write to it."
    return "Check --store, and that the database can be reached."


def insert_or_ignore(dialect: str, table: Table) -> Any:
    """Return an INSERT that leaves out rows whose identity is there; its result has one row for each new one."""
    if dialect == "postgresql":
        from sqlalchemy.dialects.postgresql import insert as pg_insert

        return pg_insert(table).on_conflict_do_nothing().returning(table.c.seq)
    if dialect == "sqlite":
        from sqlalchemy.dialects.sqlite import insert as sqlite_insert

        return sqlite_insert(table).on_conflict_do_nothing().returning(table.c.seq)
    raise StoreError(f"a store on {dialect!r} is not supported. Use sqlite:///PATH or postgresql+psycopg://….")


def _parse(url: str) -> URL:
    if "://" not in url:
        raise StoreError(f"store {url!r} is not a URL. Write sqlite:///PATH, or postgresql+psycopg://….")
    try:
        parsed = make_url(url)
        parsed.get_dialect()
    except (ArgumentError, NoSuchModuleError, ValueError):
        raise StoreError(
            f"store {_masked(url)!r} is not a URL that a database driver knows. "
            "Write sqlite:///PATH, or postgresql+psycopg://…."
        ) from None
    except ImportError:
        if not url.startswith("postgresql"):
            raise _unsupported(url) from None
        raise MissingExtraError("postgres", "a PostgreSQL store") from None
    if parsed.drivername not in _DRIVERS:
        raise _unsupported(url)
    return parsed.set(drivername="postgresql+psycopg") if parsed.drivername == "postgresql" else parsed


def _unsupported(url: str) -> StoreError:
    return StoreError(
        f"a store on {url.partition('://')[0]!r} is not supported. Use sqlite:///PATH or postgresql+psycopg://…."
    )


def _masked(url: str) -> str:
    """Return a text that is no URL without what may be a password in it."""
    return re.sub(r"(?<=//)[^/]*@", "***@", url)


def _is_sqlite(url: URL) -> bool:
    return url.get_backend_name() == "sqlite"


def _check_path(path: Path, create: bool) -> None:
    if not str(path).isascii():
        try:
            str(path).encode("utf-8")
        except UnicodeEncodeError:
            raise StoreError(f"store {path}: the name of the folder or file is no text. Choose another.") from None
    if path.is_dir():
        raise StoreError(f"store {path}: is a folder. Give the path of a file.")
    if path.exists() and not path.is_file():
        raise StoreError(f"store {path}: is not a regular file. Give the path of a file; it was left as it is.")
    if not path.parent.is_dir():
        raise StoreError(f"store {path}: its folder does not exist. Make it, or choose another with --store.")
    if not path.exists():
        if not create:
            raise StoreError(f"store {path}: does not exist yet. Import something first: usercal import PATH.")
        return
    with path.open("rb") as file:
        head = file.read(16)
    if head and head != b"SQLite format 3\x00":
        raise StoreError(f"store {path}: is not a SQLite file. Choose another with --store; it was left as it is.")


def _engine(url: URL) -> Engine:
    if not _is_sqlite(url):
        return create_engine(url, poolclass=QueuePool, pool_pre_ping=True)
    memory = not url.database or url.database == ":memory:"
    settings: dict[str, Any] = {"timeout": _BUSY_SECONDS, "check_same_thread": False}
    # Connections are kept: closing the last one to a file in WAL mode costs a checkpoint (12 ms measured).
    engine = create_engine(url, connect_args=settings, poolclass=StaticPool if memory else QueuePool)

    @event.listens_for(engine, "connect")
    def _settings(connection: Any, _: Any) -> None:
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout={_BUSY_SECONDS * 1000}")
        cursor.execute("PRAGMA synchronous=NORMAL")
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.close()

    return engine


def _version(engine: Engine) -> str | None:
    """Return the version that the store is at; None for a fresh one; raise where it is newer or not ours."""
    with engine.connect() as connection:
        tables = set(inspect(connection).get_table_names())
        if not tables:
            return None
        if "alembic_version" not in tables:
            if tables <= {"meta"} or "conversation" not in tables:
                raise StoreError(
                    f"store {shown(str(engine.url))}: is a database of another program (tables "
                    f"{', '.join(sorted(tables)[:3])}). Choose another with --store."
                )
            return None
        found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one_or_none()
    if found is not None and not _known(str(found)):
        raise StoreVersionError(
            f"store {shown(str(engine.url))}: was written by a newer version of UserCal (store version "
            f"{found}, this one knows {VERSION}). Update UserCal; the store was left as it is."
        )
    return None if found is None else str(found)


def _known(version: str) -> bool:
    return bool(re.fullmatch(r"\d{4}", version)) and version <= VERSION


def _migrate(engine: Engine, url: URL, shown_url: str) -> None:
    with _lock(engine, url):
        if _version(engine) == VERSION:  # another process was faster
            return
        import logging

        from alembic import command
        from alembic.config import Config

        logging.getLogger("alembic").setLevel(logging.WARNING)
        config = Config()
        config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
        if _is_sqlite(url) and url.database and url.database != ":memory:":
            with engine.connect() as connection:
                connection.exec_driver_sql("PRAGMA journal_mode=WAL")
        with engine.begin() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")


@contextmanager
def _lock(engine: Engine, url: URL) -> Iterator[None]:
    if _is_sqlite(url):
        if not url.database or url.database == ":memory:":
            yield
            return
        from filelock import FileLock

        path = Path(url.database).resolve()
        name = sha256(str(path).encode()).hexdigest()[:16]
        places = Path(tempfile.gettempdir())
        if path.parent.parent == places.resolve() and path.parent.name.startswith(THROWAWAY):
            places = path.parent  # its lock goes with it
        with FileLock(places / f"usercal-{name}.lock", timeout=2 * _BUSY_SECONDS, mode=0o666):
            yield
        return
    with engine.connect() as connection:
        connection.execute(text("SELECT pg_advisory_lock(:n)"), {"n": _LOCK_NUMBER})
        try:
            yield
        finally:
            connection.execute(text("SELECT pg_advisory_unlock(:n)"), {"n": _LOCK_NUMBER})


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
