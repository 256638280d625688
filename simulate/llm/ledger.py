"""Where calls are kept and found again. Only good calls are found: a failure is recorded and asked again."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from pydantic import ValidationError

from annotate.errors import InputError, StoreError
from annotate.schema import Call


class Ledger(Protocol):
    """What the gateway needs of a store of calls."""

    def find(self, key: str) -> Call | None:
        """Return a good call with this key (one without `failure`), or None."""
        ...

    def record(self, call: Call) -> None:
        """Keep a call, good or failed."""
        ...


class MemoryLedger:
    """A ledger that lasts as long as the process."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self._good: dict[str, Call] = {}

    def find(self, key: str) -> Call | None:
        """Return the good call with this key, or None."""
        return self._good.get(key)

    def record(self, call: Call) -> None:
        """Keep a call."""
        self.calls.append(call)
        if call.failure is None:
            self._good[call.key] = call


class RecordedLedger:
    """Calls from a `.jsonl` or `.jsonl.gz` file, read at the first question; what it finds is marked `recorded`."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._calls: dict[str, Call] | None = None

    def find(self, key: str) -> Call | None:
        """Return the recorded good call with this key, or None; raises `InputError` for a file that cannot be read."""
        if self._calls is None:
            self._calls = {call.key: call for call in self._read() if call.failure is None}
        return self._calls.get(key)

    def record(self, call: Call) -> None:
        """Refuse: a recording is read, never written."""
        raise StoreError(f"{self.path}: a recording is not written to. Put a store beside it with LayeredLedger.")

    def _read(self) -> list[Call]:
        opener = gzip.open if self.path.suffix == ".gz" else open
        calls: list[Call] = []
        number = 0
        try:
            with opener(self.path, "rt", encoding="utf-8") as lines:
                for line in lines:
                    number += 1
                    if line.strip():
                        calls.append(Call.model_validate_json(line).model_copy(update={"recorded": True}))
        except ValidationError as error:
            wrong = error.errors()[0]
            raise InputError(
                f"{self.path}: line {number} is not a recorded call ({wrong['msg']}). "
                "Fetch the file again, or remove the line."
            ) from None
        except (OSError, EOFError, UnicodeDecodeError) as error:
            raise InputError(f"{self.path}: the recording cannot be read ({error}). Check the file.") from None
        return calls


class LayeredLedger:
    """A recording behind a store: what is found in it is copied into the store, where every call id is looked up."""

    def __init__(self, recorded: Ledger, store: Ledger) -> None:
        self.recorded = recorded
        self.store = store

    def find(self, key: str) -> Call | None:
        """Return the store's good call, or else the recorded one."""
        kept = self.store.find(key)
        if kept is not None:
            return kept
        found = self.recorded.find(key)
        if found is not None:
            self.store.record(found)
        return found

    def record(self, call: Call) -> None:
        """Keep a call in the store."""
        self.store.record(call)


def write_recording(calls: Iterable[Call], path: Path | str) -> int:
    """Write the good calls for `RecordedLedger` and return how many there are; equal calls give equal bytes."""
    path = Path(path)
    lines = [call.model_dump_json(exclude={"recorded"}) for call in calls if call.failure is None]
    body = "".join(line + "\n" for line in lines).encode()
    path.write_bytes(gzip.compress(body, mtime=0) if path.suffix == ".gz" else body)
    return len(lines)
