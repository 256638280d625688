"""Verdicts of one rater per criterion of an episode: repeats, several raters, and verdicts that were never given."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import numpy as np
from numpy.typing import NDArray

from annotate.episodes import VERDICT_COLUMNS, VerdictValue
from annotate.errors import InputError, nearest
from calibrate.fidelity.border import UNKNOWN, categories, check_values, require

if TYPE_CHECKING:
    import pandas as pd

VALUES: tuple[str, ...] = get_args(VerdictValue)  # pass, fail, na, missing: the codes used below are positions here
PASS, FAIL, NOT_APPLICABLE, MISSING = range(4)
IntArray = NDArray[np.int64]


def one_verdict_each(
    given: pd.DataFrame | None, episodes: pd.DataFrame, target: IntArray, rater: str | None
) -> tuple[pd.DataFrame, list[str]]:
    """Return one verdict per criterion of an episode, `value` as a code and `row` the position of its episode."""
    import pandas as pd

    given = pd.DataFrame(columns=VERDICT_COLUMNS) if given is None else given
    require(given, ["episode", "criterion", "value"], "verdicts")
    frame = pd.DataFrame(index=pd.RangeIndex(len(given)))
    for name in ("criterion", "family", "mode", "value", "rater", "rater_kind"):
        frame[name] = categories(given[name]) if name in given else pd.Categorical([UNKNOWN] * len(given))
    check_values(frame["value"], VALUES, "verdict")
    frame["value"] = frame["value"].cat.set_categories(list(VALUES)).cat.codes.astype(np.int8)
    frame["turn"] = given["turn"].to_numpy() if "turn" in given else np.nan
    frame["quote"] = given["quote"].to_numpy(dtype=object) if "quote" in given else None
    ids = categories(given["episode"])
    found = pd.Index(episodes["episode"]).get_indexer(ids.categories)
    if (found < 0).any():
        stray = str(ids.categories[found < 0][0])
        raise InputError(
            f"a verdict is on episode {stray!r}, which is not among the episodes: add it, or drop the verdict."
        )
    frame["row"] = target[found[ids.codes]] if len(frame) else np.zeros(0, dtype=np.int64)
    frame = frame.iloc[np.lexsort([frame[n].cat.codes.to_numpy() for n in ("rater", "criterion")] + [frame["row"]])]
    notes = _rater_notes(frame, rater)
    if rater is not None:
        return _of_one_rater(frame, rater), notes
    return _one_each(frame, episodes), notes


def _pair(verdicts: pd.DataFrame) -> IntArray:
    """Return one number per (episode, criterion)."""
    width = max(1, len(verdicts["criterion"].cat.categories))
    codes = verdicts["criterion"].cat.codes.to_numpy(dtype=np.int64)
    return (verdicts["row"].to_numpy(dtype=np.int64) * width + codes).astype(np.int64)


def _rater_notes(verdicts: pd.DataFrame, rater: str | None) -> list[str]:
    used = [str(name) for name in verdicts["rater"].cat.categories]
    if rater is None and len(used) > 1:
        return [
            f"the verdicts come from {len(used)} raters ({', '.join(used[:4])}), each on other criteria or episodes"
        ]
    return []


def _one_each(verdicts: pd.DataFrame, episodes: pd.DataFrame) -> pd.DataFrame:
    """Return the verdicts without repeats of the same rater's; raise InputError for several raters or values."""
    pair = _pair(verdicts)
    same = np.flatnonzero(np.r_[False, np.diff(pair) == 0]) if len(pair) else np.zeros(0, dtype=np.int64)
    if not len(same):
        return verdicts
    raters, values = verdicts["rater"].cat.codes.to_numpy(), verdicts["value"].to_numpy()
    two = same[raters[same] != raters[same - 1]]
    clash = same[values[same] != values[same - 1]]
    for place in [*two[:1], *clash[:1]]:
        first, second = verdicts.iloc[place - 1], verdicts.iloc[place]
        where = f"criterion {second['criterion']!r} on episode {episodes['episode'].iloc[second['row']]!r}"
        if first["rater"] != second["rater"]:
            raise InputError(
                f"{where} has verdicts of two raters, {first['rater']!r} and {second['rater']!r}, which are never "
                "pooled: choose one of them as the rater."
            )
        raise InputError(
            f"{where} has two verdicts of rater {second['rater']!r}, {VALUES[first['value']]!r} and "
            f"{VALUES[second['value']]!r}: remove the one that does not count."
        )
    return verdicts.iloc[np.setdiff1d(np.arange(len(verdicts)), same)]


def _of_one_rater(verdicts: pd.DataFrame, rater: str) -> pd.DataFrame:
    """Return the verdicts of one rater; a criterion that only others judged on an episode is missing."""
    import pandas as pd

    names = [str(name) for name in verdicts["rater"].cat.categories]
    if rater not in names:
        raise InputError(f"no verdict is of rater {rater!r}: choose one of {', '.join(names)}{nearest(rater, names)}")
    mine = (verdicts["rater"] == rater).to_numpy()
    own = verdicts[mine]
    pair = _pair(verdicts)
    if (np.diff(pair[mine]) == 0).any():
        own = _one_each(own, pd.DataFrame({"episode": np.arange(int(own["row"].max()) + 1)}))
    others = verdicts[~mine & ~np.isin(pair, pair[mine])]
    others = others[~pd.Series(_pair(others)).duplicated().to_numpy()]
    lacking = others.assign(value=np.int8(MISSING), rater=pd.Categorical([rater] * len(others), categories=names))
    lacking = lacking.assign(turn=np.nan, quote=None)
    joined = pd.concat([own, lacking], ignore_index=True) if len(lacking) else own
    return joined.iloc[np.argsort(_pair(joined), kind="stable")]


def with_lacking(verdicts: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the verdicts with a `missing` one for each criterion of an episode's rubric set that nobody judged.

    The criteria of a task's rubric set are those that were judged on any of its episodes with the same set.
    """
    import pandas as pd

    rubric = rows.groupby(["domain", "task", "rubric"], sort=False).ngroup().to_numpy()
    ruled = ((rows["rubric"] != "") & (rows["status"] == "ok")).to_numpy()
    at = verdicts["row"].to_numpy()
    held = verdicts[ruled[at]].assign(group=rubric[at[ruled[at]]])
    members = held.drop_duplicates(["group", "criterion"])[["group", "criterion", "family", "mode"]]
    wanted = np.bincount(members["group"], minlength=int(rubric.max(initial=0)) + 1)[rubric] if len(rubric) else rubric
    lacks = np.flatnonzero(ruled & (np.bincount(at, minlength=len(rows)) < wanted))
    if not len(lacks):
        return verdicts
    every = pd.DataFrame({"row": lacks, "group": rubric[lacks]}).merge(members, on="group").drop(columns="group")
    every["criterion"] = pd.Categorical(every["criterion"], categories=verdicts["criterion"].cat.categories)
    absent = every[~np.isin(_pair(every), _pair(verdicts))].assign(value=np.int8(MISSING), turn=np.nan, quote=None)
    for name in ("family", "mode", "rater", "rater_kind"):
        own = absent[name] if name in absent else [None] * len(absent)
        absent[name] = pd.Categorical(own, categories=verdicts[name].cat.categories)
    joined = pd.concat([verdicts, absent[verdicts.columns]], ignore_index=True)
    return joined.iloc[np.argsort(_pair(joined), kind="stable")]
