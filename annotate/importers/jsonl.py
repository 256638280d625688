"""UserCal's own long format: the folder that an export writes, or any one of its files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from annotate.errors import InputError
from annotate.importers import reading
from annotate.importers.contract import Batch, Options, Pseudonym, item_id
from annotate.importers.conversations import NO_CONSENT, ConversationReader, People
from annotate.importers.scales import SCALES
from annotate.long_format import FILES, FORMAT, MANIFEST, kind_of
from annotate.schema import Annotation, Criterion, Item, Participant, Profile, Rater, Scale, new_id


class Jsonl:
    """Reads conversations, annotations, profiles and the rest from JSON Lines files."""

    name = "jsonl"
    title = "UserCal's own JSON Lines, a folder or one file, see docs/formats.md"

    def detects(self, path: Path) -> bool:
        """Whether the folder holds a file of the format, or the file's first line is of a known kind."""
        if path.is_dir():
            return any((path / f"{name}.jsonl").is_file() for name in FILES)
        return _kind(path) is not None

    def read(self, paths: Sequence[Path], pseudonym: Pseudonym, options: Options) -> Batch:
        """Read all lines; raises `InputError` with the line number."""
        batch = Batch(self.name)
        files: dict[str, list[Path]] = {name: [] for name in FILES}
        for path in paths:
            for kind, file in _files(path, batch):
                files[kind].append(file)
        reader = _Reader(batch, pseudonym, options)
        for kind in FILES:
            for file in files[kind]:
                batch.files.append(file)
                for number, line in reading.stream_lines(file):
                    reader.read(kind, line, f"{file}, line {number}", file)
        reader.finish()
        return batch


def _kind(path: Path) -> str | None:
    start = reading.head_text(path, reading.FIRST_LINE).lstrip(" \t\r\n")
    first, ended, _ = start.partition("\n")
    if not first.startswith("{"):
        return None
    try:
        line = json.loads(first)
    except (ValueError, RecursionError):
        # Damaged, or longer than what was read: reading it says which.
        whole = ended or len(start) < reading.FIRST_LINE // 4
        return "conversations" if not whole and '"turns"' in first and '"task"' in first else None
    return kind_of(line)


def _files(path: Path, batch: Batch) -> list[tuple[str, Path]]:
    if path.is_file():
        kind = _kind(path) or path.name.removesuffix(".jsonl")
        if kind not in FILES:
            raise InputError(
                f"{path}: its first line is of no known kind. Known: {', '.join(FILES)}; see docs/formats.md."
            )
        return [(kind, path)]
    _check_manifest(path)
    found = [(name, path / f"{name}.jsonl") for name in FILES if (path / f"{name}.jsonl").is_file()]
    if not found:
        raise InputError(
            f"{path}: holds no file of the format. Known: {', '.join(f'{name}.jsonl' for name in FILES)}; "
            "see docs/formats.md."
        )
    others = {file.name for file in path.glob("*.jsonl")} - {file.name for _, file in found}
    for name in sorted(others):
        batch.notes.warn(f"file {name}: no part of the format, not read")
    return found


def _check_manifest(folder: Path) -> None:
    """Raise if a file is not what the manifest beside it says: a folder that was cut off must not pass."""
    path = folder / MANIFEST
    if not path.is_file():
        return
    manifest = reading.read_json(path)
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        return
    for name, facts in manifest.get("files", {}).items():
        file = folder / name
        if not file.is_file():
            raise InputError(
                f"{file}: is named in {MANIFEST} and missing. Copy the whole folder, or delete {MANIFEST}."
            )
        try:
            with file.open("rb") as content:
                found = hashlib.file_digest(content, "sha256").hexdigest()
        except OSError as error:
            raise reading.unreadable(file, error) from None
        if found != facts.get("sha256"):
            raise InputError(
                f"{file}: is not as it was exported (its sha256 differs from {MANIFEST}). "
                f"Copy it again, or delete {MANIFEST} if the change is meant."
            )


class _Reader:
    """Turns lines into nouns; conversations go through `ConversationReader`."""

    def __init__(self, batch: Batch, pseudonym: Pseudonym, options: Options) -> None:
        self._batch = batch
        self._pseudonym = pseudonym
        self._people = People(batch, pseudonym, options)
        self._scales = {**SCALES, **options.scales}
        self._conversations = ConversationReader(batch, self._people, options, self._scales)
        self._read = {
            "participants": self._participant,
            "raters": self._rater,
            "scales": self._scale,
            "criteria": self._criterion,
            "items": self._item,
            "conversations": self._conversations.read,
            "profiles": self._profile,
            "annotations": self._annotation,
        }

    def read(self, kind: str, line: dict[str, Any], where: str, file: Path) -> None:
        """Read one line of a kind of file."""
        found = kind_of(line)
        if found is not None and found != kind:
            raise InputError(f"{where}: is a line of {found}.jsonl in a file of {kind}. Put it into its own file.")
        self._read[kind](line, where, file)

    def finish(self) -> None:
        """Complete the batch."""
        self._people.finish()
        self._conversations.finish()
        self._batch.items = list(self._conversations.items.values())

    def _participant(self, line: dict[str, Any], where: str, file: Path) -> None:
        if "person" in line and "id" not in line:
            line = {**line, "id": self._pseudonym(str(line["person"]))}
            del line["person"]
        if line.get("scopes") == []:
            line = {"scopes_basis": NO_CONSENT, **line}
        self._people.declare(reading.checked(Participant, {"kind": "human", **line}, where), where)

    def _rater(self, line: dict[str, Any], where: str, file: Path) -> None:
        self._people.raters[str(line.get("id"))] = reading.checked(Rater, line, where)

    def _scale(self, line: dict[str, Any], where: str, file: Path) -> None:
        scale = reading.checked(Scale, line, where)
        self._scales[scale.name] = scale
        self._batch.scales.append(scale)

    def _criterion(self, line: dict[str, Any], where: str, file: Path) -> None:
        self._batch.criteria.append(reading.checked(Criterion, line, where))

    def _item(self, line: dict[str, Any], where: str, file: Path) -> None:
        identity = item_id(str(line.get("task")), str(line.get("key")))
        item = reading.checked(Item, {"id": identity, **line}, where)
        if item.id in self._conversations.items:
            raise InputError(f"{where}: item {item.key!r} of task {item.task!r} stands twice. Remove one of the two.")
        self._conversations.add_item(item)

    def _profile(self, line: dict[str, Any], where: str, file: Path) -> None:
        name = str(line.get("conversation"))
        known = self._conversations.by_name.get(name)
        line = {"id": new_id("f"), **line}
        if known is not None:
            line = {"task": known.task, "participant": known.participant, **line, "conversation": known.id}
        self._batch.profiles.append(reading.checked(Profile, line, where))

    def _annotation(self, line: dict[str, Any], where: str, file: Path) -> None:
        if line.get("withheld"):
            self._batch.notes.dropped("annotations whose text the export withheld")
            return
        line = {"id": new_id("a"), **line}
        if "person" in line and "rater" not in line:
            line["rater"] = self._people.rater(self._pseudonym(str(line.pop("person"))))
        if isinstance(line.get("target"), dict):
            line["target"] = {
                name: self._conversations.identity(value) if name in ("conversation", "other") else value
                for name, value in line["target"].items()
            }
            scale = self._scales.get(str(line.get("scale")))
            if "kind" not in line["target"] and scale is not None:
                line["target"]["kind"] = scale.target
        annotation = reading.checked(Annotation, line, where)
        self._conversations.check_value(annotation, where)
        self._batch.annotations.append(annotation)
