"""Verdicts from one file, episodes from elsewhere: the two are joined on proxy, domain, task and trial."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from annotate.episodes import EpisodeFrames
from annotate.errors import InputError, nearest

if TYPE_CHECKING:
    import pandas as pd

GIVEN = "as given"
"""The rubric set of verdicts that name none: an episode of it without a verdict was never judged."""
KEY = ["proxy", "domain", "task", "trial"]


def join_verdicts(episodes: EpisodeFrames, given: EpisodeFrames) -> EpisodeFrames:
    """Return `episodes` with the verdicts of `given`, whose episodes are found again by (proxy, domain, task, trial).

    Verdicts that `episodes` has already stay; what a file says of an episode's reward or cost fills in what is not
    known. A domain of which nothing was judged is left out, and a note says so; any other episode without a verdict
    stays, as one that was never judged.

    Raises:
        InputError: a verdict's episode is not there, or two episodes answer to one key.
    """
    ours, theirs, verdicts = episodes.episodes, given.episodes, given.verdicts
    if ours is None or theirs is None or verdicts is None:
        raise InputError("verdicts can be joined with episodes only, not with a table of results. Give the runs.")
    counted = ours[ours["duplicate_of"].isna()]
    names = _names(counted)
    keys = _names(theirs)
    place = names.drop_duplicates(KEY).set_index(KEY)["episode"]
    twice = names[names.duplicated(KEY, keep=False) & names.set_index(KEY).index.isin(keys.set_index(KEY).index)]
    if len(twice):
        alike = int((twice[KEY] == twice.iloc[0][KEY]).all(axis=1).sum())
        raise InputError(
            f"episode {_said(twice.iloc[0])}: {alike} episodes have "
            "this proxy, domain, task and trial, so a verdict does not say which it is of. Give the runs one by one."
        )
    found = place.reindex(keys.set_index(KEY).index)
    if found.isna().any():
        lost = keys[found.isna().to_numpy()]
        hint = nearest(str(lost.iloc[0]["proxy"]), sorted(set(names["proxy"])))
        raise InputError(
            f"{len(lost)} of the {len(keys)} episodes that have verdicts are not among the runs, such as "
            f"{_said(lost.iloc[0])}{hint or '.'} Give the runs they belong to, or write proxy, domain, task and trial "
            "as usercal import shows them."
        )
    ids = dict(zip(keys["episode"], found, strict=True))
    together = _together(episodes.verdicts, verdicts.assign(episode=verdicts["episode"].map(ids)))
    rows, said = _judged_domains(_filled(ours, theirs, ids), set(together["episode"].astype(str)))
    return replace(
        episodes,
        episodes=rows,
        verdicts=together,
        source=f"{episodes.source}; verdicts from {given.source}" if episodes.source else given.source,
        audited=given.audited,
        notes=(*episodes.notes, *given.notes, *said),
    )


def _judged_domains(rows: pd.DataFrame, judged: set[str]) -> tuple[pd.DataFrame, list[str]]:
    """Return the rows of domains of which something was judged, their rubric set, and what there is to say."""
    has = rows["episode"].astype(str).isin(judged)
    domains = set(rows.loc[has, "domain"].astype(str))
    kept = rows[rows["domain"].astype(str).isin(domains)].copy()
    left = rows[~rows["domain"].astype(str).isin(domains)]
    said = [
        f"{domain}: none of its {len(own):,} episodes was judged, so the domain is left out"
        for domain, own in left.groupby(left["domain"].astype(str))
    ]
    bare = kept["rubric"].isna()
    kept["rubric"] = kept["rubric"].astype(object).mask(bare, GIVEN)
    never = int((~has & bare & (rows["status"] == "ok") & rows["duplicate_of"].isna()).loc[kept.index].sum())
    if never:
        said.append(f"{never:,} episodes were never judged; they are missing, not undefined")
    return kept.reset_index(drop=True), said


def _names(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[["episode", *KEY]].astype(dict.fromkeys(KEY, str)).reset_index(drop=True)


def _said(row: pd.Series[str]) -> str:
    return f"{row['proxy']}, {row['domain']}, task {row['task']}, trial {row['trial']}"


def _filled(ours: pd.DataFrame, theirs: pd.DataFrame, ids: dict[str, str]) -> pd.DataFrame:
    """Return our episodes with what the other file knows of their reward and cost and we do not."""
    told = theirs.assign(episode=theirs["episode"].map(ids)).set_index("episode")
    filled = ours.set_index("episode", drop=False)
    for name, beside in (("reward", None), ("cost_usd", "cost_basis")):
        if name not in told:
            continue
        news = told[name].reindex(filled.index)
        gap = filled[name].isna() & news.notna()
        filled[name] = filled[name].astype(float).mask(gap, news.astype(float))
        if beside is not None:
            filled[beside] = filled[beside].astype(object).mask(gap, "billed")
    return filled.reset_index(drop=True)


def _together(ours: pd.DataFrame | None, theirs: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    return theirs if ours is None or ours.empty else pd.concat([ours, theirs], ignore_index=True)
