"""A study is a folder: `study.toml`, a key for pseudonyms, the store, reports."""

from __future__ import annotations

import hmac
import os
import re
import secrets
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from annotate.config import RunSection, StudyConfig, check, load_toml
from annotate.errors import ConfigError, StudyError, nearest

if TYPE_CHECKING:
    from annotate.store import Store

CONFIG = "study.toml"
KEY = "study.key"
_KEY_FACT = "key_fingerprint"
_KEY_BYTES = 32
_BUSY_SECONDS = 30

TEMPLATE = """\
# A UserCal study. Every key is optional except study.name; `usercal check` says what is wrong or missing.
[study]
name = {name}
language = "en"                      # English-only style features are undefined in another language
# store = "sqlite:///store.db"       # or postgresql+psycopg://… ; --store and USERCAL_STORE come first
# scopes = ["take_part"]             # what people consented to, for imports that do not say: take_part,
# scopes_basis = "consent form v1"   # share_deidentified, share_verbatim; every export obeys them

# Models are litellm names, or the embedded model. Secrets come from the environment only.
[models.small]
model = "local/smollm2"              # usercal model pull  (93 MB once); a pipeline exercise, not evidence
temperature = 0.7                    # a number, or "default": then it is not sent
max_tokens = 256
concurrency = 2
# [models.judge]
# model = "openai/gpt-4o"            # usercal check --model openai/gpt-4o  prints this block
# temperature = 0.0
# [prices."openai/gpt-4o"]
# input_usd_per_million = 2.5
# output_usd_per_million = 10.0
# as_of = "2026-11-01"

# [tasks.travel]
# path = "travel"                    # a task folder anywhere; math_tutoring and document_creation ship with UserCal
# group_by = ["region"]              # the tags whose groups are compared

[run]
name = "pilot"
per_task = {{ math_tutoring = 5, document_creation = 5 }}   # how many conversations get twins
strategies = ["zero_shot_cot", "profile"]
user = "small"                       # who plays the user
assistant = "small"                  # who answers; or name one for each assistant of the data: [run.assistants]
document = "small"                   # who brings the document up to date
extractor = "small"                  # who extracts profiles
judges = ["small"]                   # who rates
max_user_turns = 3
user_max_tokens = 64
assistant_max_tokens = 100
# budget_usd = 5.0

[report]
resamples = 2000
seed = 7

# [fidelity]                         # user proxies in tau-bench runs: usercal ufs
# q = 0.84                           # the fidelity that is enough
# margin = 0.0                       # how far below is still enough
# [prices."hosted_vllm/Qwen3-32B"]   # a proxy on your own GPUs
# gpu_hour_usd = 2.10
# gpus = 2
# conversations_per_hour = 5400      # measured
# as_of = "2026-11-01"
"""


@dataclass(frozen=True)
class Study:
    """An opened study folder."""

    folder: Path
    config: StudyConfig
    store_override: str | None = None

    @classmethod
    def open(cls, folder: Path, store: str | None = None) -> Study:
        """Open the study in `folder`; raises `StudyError` or `ConfigError`."""
        path = folder / CONFIG
        if not path.is_file():
            raise StudyError(f"{folder}: is no study folder (it has no {CONFIG}). Make one: usercal init {folder}")
        return cls(folder, check(StudyConfig, load_toml(path), path), store)

    @classmethod
    def find(cls, start: Path, store: str | None = None) -> Study | None:
        """Open the study whose folder is `start` or one above it; None where there is none."""
        for folder in (start, *start.parents):
            if (folder / CONFIG).is_file():
                return cls.open(folder, store)
        return None

    @classmethod
    def create(cls, folder: Path, name: str | None = None, store: str | None = None) -> Study:
        """Make a study folder; refuses to overwrite one."""
        path = folder / CONFIG
        if path.exists():
            raise StudyError(f"{path}: a study is already here; it was left as it is. Open it: usercal status")
        title = name or folder.resolve().name or "study"
        try:
            str(folder.resolve()).encode("utf-8")
        except UnicodeEncodeError:
            raise StudyError(f"{folder}: the name of the folder is no text. Choose another folder.") from None
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _ignore(folder / ".gitignore", (KEY, "store.db*"))
            _write_key(folder / KEY)
            _write(path, TEMPLATE.format(name=_toml_string(title)))
        except OSError as error:
            raise StudyError(
                f"{folder}: the study cannot be made here ({error.strerror}). Choose a folder that you may write to."
            ) from None
        return cls.open(folder, store)

    @property
    def store_url(self) -> str:
        """The store's URL: --store, then USERCAL_STORE, then study.toml; a relative SQLite path is in the folder."""
        url = self.store_override or os.environ.get("USERCAL_STORE") or self.config.study.store
        if "://" not in url:  # a plain path is the friendliest way to say it
            url = f"sqlite:///{_literal(url)}"
        match = re.fullmatch(r"sqlite:///(?!/)([^?]+)(\?.*)?", url)
        if match and match[1] != ":memory:":
            path = (self.folder / unquote(match[1])).resolve()
            return f"sqlite:///{_literal(str(path))}{match[2] or ''}"
        return url

    def open_store(self, *, create: bool = True) -> Store:
        """Open the store, and refuse one whose pseudonyms were made with another key."""
        from annotate.store import Store

        if self.store_url in ("sqlite://", "sqlite:///", "sqlite:///:memory:"):
            raise StudyError(
                "the store is in memory, so everything would be lost when this command ends. Give a file with --store."
            )
        store = Store.open(self.store_url, create=create)
        try:
            self._check_key(store)
        except BaseException:
            store.close()
            raise
        return store

    def _check_key(self, store: Store) -> None:
        path, known = self.folder / KEY, store.fact(_KEY_FACT)
        if known is not None and not path.exists():
            raise StudyError(
                f"{path}: is missing, and this store's pseudonyms were made with it. "
                "Put it back, or use another store with --store."
            )
        fingerprint = hmac.digest(self._key, b"fingerprint", "sha256").hex()[:16]
        if known is None:
            with store.begin() as tx:
                tx.remember(_KEY_FACT, fingerprint)
        elif known != fingerprint:
            raise StudyError(
                f"{path}: is not the key that this store's pseudonyms were made with. "
                "Put the old key back, or use another store with --store."
            )

    def pseudonym(self, person: str) -> str:
        """Return the pseudonym of a person in this study: `p_` and 48 bits of an HMAC under the study's key."""
        return "p_" + hmac.digest(self._key, person.encode("utf-8", "surrogatepass"), "sha256").hex()[:12]

    @cached_property
    def _key(self) -> bytes:
        path = self.folder / KEY
        try:
            return _read_key(path)
        except FileNotFoundError:
            return _write_key(path)
        except (OSError, ValueError):
            raise StudyError(f"{path}: cannot be read as a key. Put back the file that 'usercal init' made.") from None

    @property
    def reports(self) -> Path:
        """The folder of reports."""
        return self.folder / "reports"


def load_run(path: Path, base: StudyConfig) -> RunSection:
    """Read a run file: either a whole study.toml, or a file whose only section is `[run]`."""
    raw: dict[str, Any] = load_toml(path)
    if "study" in raw:
        return check(StudyConfig, raw, path).run
    allowed = {"run"}
    if unknown := sorted(set(raw) - allowed):
        raise ConfigError(
            f"{path}: unknown key {unknown[0]!r}{nearest(unknown[0], allowed)} Allowed here: run "
            "(everything else belongs in study.toml)."
        )
    section = raw.get("run", {})
    if not isinstance(section, dict):
        raise ConfigError(f"{path}: 'run' is {type(section).__name__} and no section. Begin it with a line [run].")
    merged = {**base.run.model_dump(exclude_unset=True), **section}
    return check(RunSection, merged, path)


def known_names(names: Mapping[str, object], used: str, where: str) -> None:
    """Raise `ConfigError` unless `used` is one of `names`; `where` is the key that uses it."""
    if used not in names:
        raise ConfigError(
            f"{where}: {used!r} is not declared{nearest(used, names)} Declared: {', '.join(sorted(names)) or 'none'}."
        )


def _ignore(path: Path, names: tuple[str, ...]) -> None:
    """Add names to a .gitignore, and leave what it says already."""
    said = path.read_text("utf-8") if path.exists() else ""
    missing = [name for name in names if name not in said.splitlines()]
    if missing:
        gap = "" if not said or said.endswith("\n") else "\n"
        _write(path, said + gap + "".join(f"{name}\n" for name in missing))


def _write(path: Path, text: str) -> None:
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_text(text, "utf-8")
        partial.replace(path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise


def _write_key(path: Path) -> bytes:
    """Make the key unless another process made it in the meantime; return the one that counts."""
    partial = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(secrets.token_bytes(_KEY_BYTES).hex() + "\n")
    try:
        os.link(partial, path)  # never over a key that is there, and never seen half written
    except FileExistsError:
        pass
    except OSError:  # a file system without hard links
        if not path.exists():
            partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return _read_key(path)


def _read_key(path: Path) -> bytes:
    """Return the key in a file; `ValueError` for one that is cut or empty, whose pseudonyms anybody could make."""
    key = bytes.fromhex(path.read_text("ascii").strip())
    if len(key) != _KEY_BYTES:
        raise ValueError(f"a key has {_KEY_BYTES} bytes")
    return key


def _toml_string(text: str) -> str:
    import json

    # A folder's name may hold what is no text, and TOML forbids a bare DEL.
    clean = text.encode("utf-8", "replace").decode("utf-8")
    return json.dumps(clean, ensure_ascii=False).replace("\x7f", "\\u007f")


def _literal(path: str) -> str:
    """Return a path as it stands in a URL, where % and ? mean something else."""
    return path.replace("%", "%25").replace("?", "%3F")


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keep other imports out of a folder meanwhile; raises `StudyError` where another one does not end in time."""
    from filelock import FileLock, Timeout

    name = sha256(os.fsencode(folder.resolve())).hexdigest()[:16]
    lock = FileLock(Path(tempfile.gettempdir()) / f"usercal-import-{name}.lock", timeout=_BUSY_SECONDS, mode=0o666)
    try:
        lock.acquire()
    except Timeout:
        raise StudyError(f"{folder}: another import or demo is writing here. Try again when it has finished.") from None
    try:
        yield
    finally:
        lock.release()
