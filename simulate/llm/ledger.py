"""Where calls are kept and found again. Only good calls are found: a failure is recorded and asked again."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol, runtime_checkable

from pydantic import ValidationError

from annotate.errors import InputError, StoreError
from annotate.schema import Call, new_id


class Ledger(Protocol):
    """What the gateway needs of a store of calls."""

    def find(self, key: str) -> Call | None:
        """Return a good call with this key (one without `failure`), or None."""
        ...

    def record(self, call: Call) -> None:
        """Keep a call, good or failed."""
        ...


@runtime_checkable
class Replay(Protocol):
    """A ledger that also knows which calls failed, so that a replay takes the same turns as the recording."""

    def find_failure(self, key: str) -> Call | None:
        """Return the call with this key that brought no usable reply, or None."""
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
        call = self._all().get(key)
        return call if call is not None and call.failure is None else None

    def find_failure(self, key: str) -> Call | None:
        """Return the recorded call with this key that brought no usable reply, or None: a replay fails as it failed."""
        call = self._all().get(key)
        return call if call is not None and call.failure is not None else None

    def _all(self) -> dict[str, Call]:
        if self._calls is None:
            self._calls = {call.key: call for call in self._read()}
        return self._calls

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

    def find_failure(self, key: str) -> Call | None:
        """Return the recorded failure with this key, kept in the store too; None where there is none."""
        failed = self.recorded.find_failure(key) if isinstance(self.recorded, Replay) else None
        if failed is not None:
            self.store.record(failed.model_copy(update={"id": new_id("k")}))
        return failed

    def record(self, call: Call) -> None:
        """Keep a call in the store."""
        self.store.record(call)


def write_recording(calls: Iterable[Call], path: Path | str) -> int:
    """Write calls for `RecordedLedger` and return how many there are; equal calls give equal bytes.

    Of each key one call is kept: the good one, or else the last that brought no usable reply. Messages are left out:
    the key stands for them.
    """
    path = Path(path)
    kept: dict[str, Call] = {}
    for call in calls:
        if call.key not in kept or kept[call.key].failure is not None:
            request = {name: value for name, value in call.request.items() if name != "messages"}
            sent = {name: value for name, value in call.sent.items() if name != "api_base"}  # of this machine alone
            kept[call.key] = call.model_copy(update={"request": request, "sent": sent})
    lines = [call.model_dump_json(exclude={"recorded"}) for call in kept.values()]
    body = "".join(line + "\n" for line in lines).encode()
    path.write_bytes(gzip.compress(body, mtime=0) if path.suffix == ".gz" else body)
    return len(lines)
