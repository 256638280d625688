"""Write a study in open formats, never more of it than its people consented to share."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from annotate import sharing
from annotate.errors import InputError, StoreError, nearest
from annotate.export_files import WRITERS, Line, Writer, facts_of
from annotate.long_format import FILES, FORMAT, MANIFEST, body, conversation_line
from annotate.schema import Annotation, Conversation, Item, Noun, Participant, Profile, Rater, Scale
from annotate.sharing import Consent, Sharing

if TYPE_CHECKING:
    from annotate.store import Store


def export_study(
    store: Store, format: str, directory: Path, *, share: Sharing = "verbatim", force: bool = False
) -> dict[str, Any]:
    """Write the study to a folder as `jsonl`, `csv` or `parquet` and return its manifest.

    A human conversation goes out whole with the scope share_verbatim, without any text with share_deidentified only,
    and not at all with neither; a twin follows its person. `share="deidentified"` withholds all texts. The folder is
    written beside its place and then put there; one that holds something else needs `force`, and then only files of
    the same names are replaced. The manifest counts what was written and what was withheld, and has a sha256 of each
    file. Raises `InputError`, and `StoreError` if the counts do not add up to the store's.
    """
    if format not in WRITERS:
        raise InputError(f"format {format!r} cannot be exported{nearest(format, WRITERS)} Known: {', '.join(WRITERS)}.")
    if directory.is_symlink():  # what it leads to is replaced, the link itself stays
        directory = Path(os.path.realpath(directory))
    _check_target(directory, force)
    partial = directory.parent / f".{directory.name or 'export'}-{secrets.token_hex(4)}.partial"
    try:
        partial.mkdir(parents=True)
        manifest = _Export(store, WRITERS[format](partial), share).run(format, partial)
        (partial / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", "ascii")
        _put(partial, directory)
    except OSError as error:
        raise InputError(
            f"{directory}: the export cannot be written ({error.strerror or error}). "
            "Check the place and its free space; nothing was left there."
        ) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return manifest


class _Export:
    """One export: which nouns go out, and how much of each."""

    def __init__(self, store: Store, writer: Writer, share: Sharing) -> None:
        self._store = store
        self._writer = writer
        self._consent = Consent(store.iterate(Participant), store.iterate(Conversation), share)
        self._scopes = {person.id: person.scopes for person in store.iterate(Participant)}
        self._keys = {item.id: item.key for item in store.iterate(Item)}
        self._scales = {scale.name: scale for scale in store.iterate(Scale)}
        self._raters = {rater.id: self._consent.rater(rater) for rater in store.iterate(Rater)}
        self._texts: Counter[str] = Counter()
        self._kept: Counter[str] = Counter()
        self._left_out: Counter[str] = Counter()
        self._shared: Counter[Sharing] = Counter()

    def run(self, format: str, folder: Path) -> dict[str, Any]:
        """Write all files; return the manifest."""
        try:
            for kind, noun in FILES.items():
                self._write(kind, noun)
        finally:
            counts = self._writer.close()
        self._check()
        files = {name: facts_of(folder / name, count) for name, count in sorted(counts.items())}
        withheld = {f"{kind}_left_out": self._left_out[kind] for kind in FILES if self._left_out[kind]}
        if self._texts["texts"]:
            withheld["texts"] = self._texts["texts"]
        withheld |= {f"{what}_replaced": count for what, count in self._writer.replaced.items() if count}
        return {
            "format": FORMAT,
            "records": format,
            "files": files,
            "withheld": withheld,
            "conversations": {
                "verbatim": self._shared["verbatim"],
                "without_text": self._shared["deidentified"],
                "left_out": self._shared["none"],
            },
        }

    def _write(self, kind: str, noun: type[Noun]) -> None:
        lines: Iterable[Line | None] = (self._line(one) for one in self._store.iterate(noun))
        for line in lines:
            if line is None:
                self._left_out[kind] += 1
            else:
                self._kept[kind] += 1
                self._writer.write(kind, line)

    def _line(self, noun: Noun) -> Line | None:
        """Return what may be said of a noun; None where it has to stay."""
        if isinstance(noun, Conversation):
            return self._conversation(noun)
        if isinstance(noun, Annotation):
            return self._annotation(noun)
        line = body(noun)
        if isinstance(noun, Profile):
            allowed = self._consent.conversation(noun.conversation)
            return self._within(allowed, line, lambda: sharing.profile_without_words(line, self._texts))
        if isinstance(noun, Participant):
            allowed = self._consent.participant(noun)
            return self._within(
                allowed,
                line,
                lambda: {
                    **line,
                    **{name: sharing.blank(line[name], self._texts) for name in ("background",) if name in line},
                },
            )
        if isinstance(noun, Item):
            allowed = self._consent.item(noun)
            return self._within(allowed, line, lambda: sharing.item_without_words(line, self._texts))
        if isinstance(noun, Rater) and self._raters[noun.id] == "none":
            return None
        return line

    @staticmethod
    def _within(allowed: Sharing, line: Line, shorten: Any) -> Line | None:
        if allowed == "none":
            return None
        shortened: Line = line if allowed == "verbatim" else shorten()
        return shortened

    def _conversation(self, conversation: Conversation) -> Line | None:
        allowed = self._consent.conversation(conversation.id)
        self._shared[allowed] += 1
        scopes = self._scopes.get(conversation.participant) if conversation.origin == "human" else None
        line = conversation_line(conversation, self._keys.get(conversation.item, conversation.item), scopes)
        return self._within(allowed, line, lambda: sharing.without_words(line, self._texts))

    def _annotation(self, annotation: Annotation) -> Line | None:
        target = annotation.target
        levels = {
            self._consent.conversation(target.conversation),
            self._consent.conversation(target.other),
            self._raters.get(annotation.rater, "verbatim"),
        }
        allowed: Sharing = "none" if "none" in levels else "deidentified" if "deidentified" in levels else "verbatim"
        line, scale = body(annotation), self._scales.get(annotation.scale)
        return self._within(allowed, line, lambda: sharing.annotation_without_words(line, scale, self._texts))

    def _check(self) -> None:
        """Raise unless everything in the store was either written or counted as left out."""
        for kind, noun in FILES.items():
            stored, seen = self._store.count(noun), self._kept[kind] + self._left_out[kind]
            if stored != seen:
                raise StoreError(
                    f"export: the store holds {stored} {kind}, and {seen} were read; something is being "
                    "stored at the same time. Run the export again."
                )


def _check_target(directory: Path, force: bool) -> None:
    if directory.is_file():
        raise InputError(f"{directory}: is a file, and an export is a folder. Choose another place.")
    if not force and directory.is_dir() and any(directory.iterdir()) and _exported(directory) is None:
        raise InputError(
            f"{directory}: is not empty and no earlier export. Choose another place, or use --force to "
            "replace files of the same names."
        )


def _exported(directory: Path) -> set[str] | None:
    """Return the names of the files of an earlier export, or None where there was none."""
    try:
        manifest = json.loads((directory / MANIFEST).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        return None
    return {name for name in manifest.get("files", {}) if Path(name).name == name} | {MANIFEST}


def _put(partial: Path, directory: Path) -> None:
    """Put a finished folder into its place: in one step where nothing else is there, else file by file."""
    present = {entry.name for entry in directory.iterdir()} if directory.is_dir() else set()
    earlier = _exported(directory) or set()
    if not present:
        if directory.is_dir():
            directory.rmdir()
        partial.rename(directory)
    elif present <= earlier:
        old = partial.with_suffix(".old")
        directory.rename(old)
        partial.rename(directory)
        shutil.rmtree(old, ignore_errors=True)
    else:
        # The manifest goes first and comes last: a folder with one is complete.
        for name in (MANIFEST, *sorted(earlier - {MANIFEST})):
            (directory / name).unlink(missing_ok=True)
        for file in sorted(partial.iterdir(), key=lambda file: file.name == MANIFEST):
            file.replace(directory / file.name)
