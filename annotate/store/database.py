"""Open a store, write nouns in transactions, read them in bulk; SQLAlchemy Core throughout, no ORM session."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from types import TracebackType
from typing import Any, Self, TypeVar

from sqlalchemy import Connection, Engine, Insert, bindparam, delete, func, insert, select
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.sql import Select

from annotate.errors import StoreError
from annotate.schema import Noun
from annotate.store import opening
from annotate.store.tables import META, SHELVES, Shelf

N = TypeVar("N", bound=Noun)
_CHUNK = 500


def encode(noun: Noun) -> str:
    """Return the noun as JSON text; lone surrogates survive as escapes."""
    try:
        return noun.model_dump_json()
    except ValueError:  # pydantic's writer refuses lone surrogates, which occur in real chats
        return json.dumps(noun.model_dump(mode="python"), default=str)


def decode(kind: type[N], body: str) -> N:
    """Return the noun that `encode` wrote."""
    if "\\ud" in body:  # possible lone surrogates: pydantic's JSON reader refuses them, the standard one does not
        return kind.model_validate(_tuples(json.loads(body)))
    return kind.model_validate_json(body)


def _tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _tuples(part) for name, part in value.items()}
    return [_tuples(part) for part in value] if isinstance(value, list) else value


class Transaction:
    """All or nothing; made by `Store.begin`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, nouns: Iterable[Noun]) -> None:
        """Insert nouns of any kinds; a repeated identity raises `StoreError` and undoes the transaction."""
        for kind, batch in _by_kind(nouns):
            shelf = SHELVES[kind]
            for start in range(0, len(batch), _CHUNK):
                self._connection.execute(_insert(kind), [_row(shelf, n) for n in batch[start : start + _CHUNK]])

    def add_new(self, nouns: Iterable[Noun]) -> int:
        """Insert those that are not there yet (by id, import key or cell); return how many were new."""
        added = 0
        for kind, batch in _by_kind(nouns):
            shelf = SHELVES[kind]
            statement = opening.insert_or_ignore(self._connection.dialect.name, shelf.table)
            for noun in batch:
                added += len(self._connection.execute(statement, _row(shelf, noun)).all())
        return added

    def put(self, nouns: Iterable[Noun]) -> None:
        """Insert, or replace by id."""
        for kind, batch in _by_kind(nouns):
            shelf = SHELVES[kind]
            for noun in batch:
                self._connection.execute(delete(shelf.table).where(shelf.table.c.id == shelf.identity(noun)))
                self._connection.execute(insert(shelf.table), _row(shelf, noun))

    def remember(self, name: str, value: str) -> None:
        """Keep a fact about the store itself."""
        self._connection.execute(delete(META).where(META.c.name == name))
        self._connection.execute(insert(META), {"name": name, "value": value})


class Store:
    """One database of nouns; opened with `Store.open`, closed with `close` or by `with`."""

    def __init__(self, engine: Engine, url: str) -> None:
        self.engine = engine
        self.url = url
        file = opening.file_of(engine.url)
        self._file = file.absolute() if file else None
        self._identity = self._found()

    @classmethod
    def open(cls, url: str, *, create: bool = True) -> Store:
        """Open (and if need be create or migrate) the store at a SQLAlchemy URL.

        Raises `StoreVersionError` for a store of a newer version and `StoreError` for anything else that fails;
        a file that could not be set up is not left behind.
        """
        return cls(opening.open_engine(url, create=create), url)

    def close(self) -> None:
        """Give up the connections."""
        self.engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def begin(self) -> Iterator[Transaction]:
        """Begin a transaction: committed at the end of the block, undone if it raises."""
        if self._found() != self._identity:
            raise StoreError(
                f"store {opening.shown(self.url)}: was removed or replaced while it was open, so what this step says "
                "would be lost. Put it back, or begin anew; nothing of this step was written."
            )
        with self._translated(), self.engine.begin() as connection:
            yield Transaction(connection)

    def _found(self) -> tuple[int, int] | None:
        """Return what the file is known by; a file that was removed takes what is written, and it is lost."""
        try:
            facts = self._file.stat() if self._file else None
        except OSError:
            return None
        return (facts.st_dev, facts.st_ino) if facts else None

    def get(self, kind: type[N], identity: str) -> N | None:
        """Return one noun by its id, or None."""
        found = self.select(kind, id=identity)
        return found[0] if found else None

    def select(self, kind: type[N], /, **filters: Any) -> list[N]:
        """Return nouns in order of insertion; filters are equal to a value, None, or one of a list."""
        return list(self.iterate(kind, **filters))

    def iterate(self, kind: type[N], /, *, chunk: int = _CHUNK, **filters: Any) -> Iterator[N]:
        """Yield nouns in order of insertion, `chunk` at a time, so that memory stays bounded."""
        query, given = _page(kind, filters)
        last = 0
        while True:
            with self._translated(), self.engine.connect() as connection:
                rows = connection.execute(query, {**given, "after_seq": last, "at_most": chunk}).all()
            for seq, body in rows:
                last = seq
                yield self._decoded(kind, body, seq)
            if len(rows) < chunk:
                return

    def _decoded(self, kind: type[N], body: str, seq: int) -> N:
        try:
            return decode(kind, body)
        except ValueError as error:
            raise StoreError(
                f"store {opening.shown(self.url)}: record {seq} of {SHELVES[kind].table.name} cannot be read "
                f"({str(error).splitlines()[0]}). It was changed by another program or is damaged; go back to a copy."
            ) from None

    def count(self, kind: type[Noun], /, **filters: Any) -> int:
        """Return how many there are."""
        table = SHELVES[kind].table
        with self._translated(), self.engine.connect() as connection:
            return int(connection.execute(_where(select(func.count()), table, filters).select_from(table)).scalar_one())

    def ids(self, kind: type[Noun], /, **filters: Any) -> set[str]:
        """Return the ids."""
        return set(self.column(kind, "id", **filters))

    def column(self, kind: type[Noun], name: str, /, **filters: Any) -> list[Any]:
        """Return one key column, in order of insertion, without reading the bodies."""
        table = SHELVES[kind].table
        query = _where(select(table.c[name]), table, filters).order_by(table.c.seq)
        with self._translated(), self.engine.connect() as connection:
            return list(connection.execute(query).scalars())

    def imports(self) -> dict[str, str]:
        """Return import key → conversation id of everything that was imported."""
        from annotate.schema import Conversation

        table = SHELVES[Conversation].table
        query = select(table.c.import_key, table.c.id).where(table.c.import_key.is_not(None))
        with self._translated(), self.engine.connect() as connection:
            return {str(row[0]): str(row[1]) for row in connection.execute(query)}

    def fact(self, name: str) -> str | None:
        """Return a fact about the store itself, or None."""
        with self._translated(), self.engine.connect() as connection:
            return connection.execute(select(META.c.value).where(META.c.name == name)).scalar_one_or_none()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except IntegrityError as error:
            raise StoreError(
                f"store {opening.shown(self.url)}: a record with the same identity is already there "
                f"({_first_line(error)}). Nothing was written."
            ) from None
        except DBAPIError as error:
            raise StoreError(
                f"store {opening.shown(self.url)}: {_first_line(error)}; nothing of this step was "
                f"written. {opening.remedy(error)}"
            ) from None


def _first_line(error: DBAPIError) -> str:
    return str(error.orig).strip().splitlines()[0] if str(error.orig).strip() else type(error.orig).__name__


def _row(shelf: Shelf, noun: Noun) -> dict[str, Any]:
    return {
        "id": shelf.identity(noun),
        "schema_version": noun.schema_version,
        "body": encode(noun),
        **shelf.columns(noun),
    }


def _by_kind(nouns: Iterable[Noun]) -> Iterator[tuple[type[Noun], list[Noun]]]:
    groups: dict[type[Noun], list[Noun]] = {}
    for noun in nouns:
        groups.setdefault(type(noun), []).append(noun)
    yield from groups.items()


@cache
def _insert(kind: type[Noun]) -> Insert:
    return insert(SHELVES[kind].table)


def _page(kind: type[Noun], filters: Mapping[str, Any]) -> tuple[Select[Any], dict[str, Any]]:
    """Return the query of a page of nouns and its parameters; a query of plain values is built once and kept."""
    plain = {name: value for name, value in filters.items() if isinstance(value, (str, int, float))}
    query = _plain_page(kind, tuple(plain))
    rest = {name: value for name, value in filters.items() if name not in plain}
    return (_where(query, SHELVES[kind].table, rest) if rest else query), plain


@cache
def _plain_page(kind: type[Noun], names: tuple[str, ...]) -> Select[Any]:
    table = SHELVES[kind].table
    query = select(table.c.seq, table.c.body).where(*(table.c[name] == bindparam(name) for name in names))
    return query.where(table.c.seq > bindparam("after_seq")).order_by(table.c.seq).limit(bindparam("at_most"))


def _where(query: Select[Any], table: Any, filters: Mapping[str, Any]) -> Select[Any]:
    for name, value in filters.items():
        column = table.c[name]
        if value is None:
            query = query.where(column.is_(None))
        elif isinstance(value, (list, tuple, set, frozenset)):
            query = query.where(column.in_(sorted(value)))
        else:
            query = query.where(column == value)
    return query
