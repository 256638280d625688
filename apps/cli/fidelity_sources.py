"""Where `usercal ufs` takes its episodes and verdicts from: the study, run files, tables of verdicts or of results."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from annotate.episodes import EpisodeFrames
from annotate.errors import InputError, StudyError
from annotate.study import Study

if TYPE_CHECKING:
    from annotate.config import PriceConfig
    from annotate.import_summary import ImportSummary
    from annotate.store import Store
    from calibrate.probes.probing import ProbeRow
    from simulate.judging_price import JudgingLoad

FORMAT = "tau"
TABLES = (".csv", ".tsv", ".parquet", ".jsonl")
"""A file of these endings is a table, whatever is wrong with it; the reader of tables says what."""


@dataclass(frozen=True)
class Reading:
    """What the reader of run files is told besides the files: see `usercal import --help`."""

    user_model: str | None = None
    guidelines: Path | None = None
    tasks: Path | None = None
    proxy: str | None = None

    def as_options(self) -> dict[str, Any]:
        """Return the keyword arguments of `import_paths`."""
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class Sources:
    """What was found: the frames, and of whole trajectories the probes and what judging them would take."""

    frames: EpisodeFrames
    probes: tuple[ProbeRow, ...] = ()
    load: JudgingLoad | None = None
    summary: ImportSummary | None = None
    user_arguments: dict[str, Any] = field(default_factory=dict)
    """proxy → the model and arguments that it was run with."""
    agents: tuple[str, ...] = ()

    @property
    def judged(self) -> bool:
        """Whether a score can be computed: there are verdicts, or results."""
        frames = self.frames
        return frames.results is not None or (frames.verdicts is not None and len(frames.verdicts) > 0)

    def within(self, domains: tuple[str, ...]) -> Sources:
        """Return the same of some domains only, of all where none is named; `InputError` for one that is not there."""
        if not domains:
            return self
        from annotate.errors import nearest

        frames = self.frames
        rows = frames.results if frames.results is not None else frames.episodes
        assert rows is not None
        known = sorted(set(rows["domain"].astype(str)))
        for domain in domains:
            if domain not in known:
                raise InputError(
                    f"--domains: {domain!r} is not there{nearest(domain, known)} "
                    f"Domains here: {', '.join(known) or 'none'}."
                )
        kept = rows[rows["domain"].astype(str).isin(domains)].reset_index(drop=True)
        probes = tuple(probe for probe in self.probes if probe.domain in domains)
        if frames.results is not None:
            return replace(self, frames=replace(frames, results=kept))
        verdicts = frames.verdicts
        if verdicts is not None:
            verdicts = verdicts[verdicts["episode"].isin(set(kept["episode"]))].reset_index(drop=True)
        return replace(self, frames=replace(frames, episodes=kept, verdicts=verdicts), probes=probes)

    def scorable(self) -> Sources:
        """Return the same without proxies that have no episode that could be scored, with a note of who they are."""
        frames, rows = self.frames, self.frames.episodes
        if rows is None or rows.empty:
            return self
        ok = set(rows.loc[rows["status"] != "not_scorable", "proxy"].astype(str))
        out = sorted(set(rows["proxy"].astype(str)) - ok)
        if not out or not ok:
            return self
        kept = rows[rows["proxy"].astype(str).isin(ok)].reset_index(drop=True)
        notes = (*frames.notes, f"{', '.join(out)}: no episode can be scored, so there is no row of it")
        return replace(self, frames=replace(frames, episodes=kept, notes=notes))


def gather(
    paths: Sequence[Path],
    *,
    study: Study | None,
    verdicts: Path | None = None,
    rater: str | None = None,
    reading: Reading | None = None,
) -> Sources:
    """Return what the paths hold, or the study where none is given; `verdicts` is a table on those episodes.

    Run files are read into a store that is thrown away afterwards. Raises `InputError` or `StudyError`.
    """
    from annotate.fidelity_tables import check_readable, looks_like, read_table

    for path in paths:
        if not path.is_dir():
            check_readable(path)
    kinds = {path: looks_like(path) if path.is_file() else None for path in paths}
    tables = [path for path, kind in kinds.items() if kind is not None or path.suffix.lower() in TABLES]
    runs = [path for path in kinds if path not in tables]
    prices = study.config.prices if study is not None else {}
    if verdicts is not None:
        tables.append(verdicts)
    told = read_table(tables, rater=rater) if tables else None
    if told is not None and told.results is not None and (runs or verdicts is not None):
        raise InputError("a table of results stands alone: it has no episodes that could be joined with runs.")
    if told is not None and not runs and verdicts is None:
        return Sources(_priced(told, prices))
    with _opened(runs, study, reading or Reading()) as (store, summary):
        found = _from_store(store, rater, prices)
    found = replace(found, summary=summary)
    if told is None:
        return found
    from annotate.fidelity_join import join_verdicts

    return replace(found, frames=join_verdicts(found.frames, told))


@contextmanager
def _opened(
    runs: Sequence[Path], study: Study | None, reading: Reading
) -> Iterator[tuple[Store, ImportSummary | None]]:
    """Open the study's store, or one that the runs are read into and that is removed afterwards."""
    if not runs:
        if study is None:
            raise StudyError(
                f"{Path.cwd()}: there is no study here or above, and no path was given. Name run files, a table of "
                "verdicts or one of results: usercal ufs PATH, or begin a study: usercal import PATH"
            )
        with study.open_store(create=False) as store:
            yield store, None
        return
    from annotate.imports import import_paths
    from annotate.store import Store
    from annotate.store.opening import THROWAWAY

    with tempfile.TemporaryDirectory(prefix=THROWAWAY) as folder, Store.open(f"sqlite:///{folder}/runs.db") as store:
        summary = import_paths(
            store, list(runs), format=FORMAT, pseudonym=lambda name: f"p_{name}", **reading.as_options()
        )
        yield store, summary


def _priced(frames: EpisodeFrames, prices: dict[str, PriceConfig], **more: Any) -> EpisodeFrames:
    from simulate.pricing import price_episodes

    return price_episodes(frames, prices, **more)


def _from_store(store: Store, rater: str | None, prices: dict[str, PriceConfig]) -> Sources:
    from annotate.episode_frames import read_episodes
    from annotate.schema import Item, Run
    from simulate.judging_price import judging_load
    from simulate.pricing import estimate_tokens

    items = {item.id: item for item in store.iterate(Item)}
    runs = {run.id: run.config for run in store.iterate(Run)}
    frames = read_episodes(store, rater=rater, estimate=estimate_tokens)
    assert frames.episodes is not None
    rows = frames.episodes
    walk = _Walk(items, runs, set(rows.loc[rows["duplicate_of"].isna(), "episode"]))
    load = judging_load(walk.through(store, set(rows.loc[rows["status"] == "ok", "episode"])))
    models = {proxy: str(user["model"]) for proxy, user in walk.users.items() if user.get("model")}
    return Sources(
        _priced(frames, prices, models=models),
        tuple(walk.probes),
        load,
        user_arguments=walk.users,
        agents=tuple(sorted(set(rows["agent"].dropna().astype(str)))),
    )


@dataclass
class _Walk:
    """Reads every trajectory once: probes those that count, and notes with which settings a proxy was run."""

    items: dict[str, Any]
    runs: dict[str, Any]
    counted: set[str]
    probes: list[ProbeRow] = field(default_factory=list)
    users: dict[str, dict[str, Any]] = field(default_factory=dict)

    def through(self, store: Store, scorable: set[str]) -> Iterator[tuple[Any, Any, str]]:
        """Yield the trajectories that a judge could read, with item and guidelines."""
        from annotate.schema import Conversation
        from calibrate.probes.probing import probe

        for conversation in store.iterate(Conversation, chunk=200):
            if conversation.id not in self.counted:
                continue
            item, config = self.items.get(conversation.item), self.runs.get(conversation.run or "", {})
            found = probe(conversation, item, config)
            self.probes.append(found)
            if isinstance(config.get("user"), dict):
                self.users.setdefault(found.proxy, config["user"])
            if conversation.id in scorable:
                yield conversation, item, str((config.get("guidelines") or {}).get("text") or "")
