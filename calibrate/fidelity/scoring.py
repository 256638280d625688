"""The User Fidelity Score of episodes: an episode is faithful when every criterion that applies to it passes.

f_i = ∏_j 1{c_ij passes} over the applicable criteria of episode i; a criterion that does not apply leaves the product,
an episode without any is undefined, and a missing verdict leaves it unscored unless another criterion already failed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray

from annotate.episodes import VERDICT_COLUMNS, EpisodeFrames, EpisodeStatus
from annotate.errors import InputError
from calibrate.fidelity.border import UNKNOWN, categories, check_values, numbers, require, texts
from calibrate.fidelity.judged import FAIL, MISSING, PASS, VALUES, one_verdict_each, with_lacking

if TYPE_CHECKING:
    import pandas as pd

STATES = ("scored", "undefined", "unscored", "infra_error", "not_scorable")
NUMBERS = (
    "reward",
    "cost_usd",
    "list_cost_usd",
    "prompt_tokens",
    "completion_tokens",
    "seconds",
    "user_turns",
    "agent_turns",
    "agent_tool_calls",
    "agent_questions",
)
KEY = ["proxy", "domain", "task", "trial"]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Scored:
    """Episodes with their fidelity, and the verdicts it was counted from.

    rows: one row per counted episode, ordered by domain, task, proxy, trial: episode, proxy, agent, domain, task, trial
        (texts), state (`STATES`), faithful (1 or 0, nan unless scored), faithful_low and faithful_high (every missing
        verdict failing and passing; nan where nothing can be scored), failed, applicable and missing (verdicts; an
        episode that has a rubric set and no verdict counts one), `NUMBERS` (nan = unknown), cost_basis, rubric,
        and for each family F failed:F, applicable:F and missing:F (verdicts).
    verdicts: `VERDICT_COLUMNS` of those episodes, one row per criterion, with proxy, domain, task and trial
        (categoricals) and `row`, the position in `rows`; verdicts that were never given stand as `missing`.
    duplicates: how many episodes collapsed, by (proxy, domain).
    """

    rows: pd.DataFrame
    verdicts: pd.DataFrame
    families: tuple[str, ...]
    proxies: tuple[str, ...]
    domains: tuple[str, ...]
    duplicates: Counter[tuple[str, str]]
    rater: str | None = None
    audited: bool = False
    notes: tuple[str, ...] = field(default_factory=tuple)

    @property
    def tasks(self) -> int:
        """How many tasks there are, over all domains."""
        return int(self.rows[["domain", "task"]].drop_duplicates().shape[0])


def score(frames: EpisodeFrames, *, rater: str | None = None) -> Scored:
    """Return the episodes with their fidelity f_i; `rater` chooses whose verdicts count where several judged the same.

    Identical duplicates of (proxy, domain, task, trial) and episodes that repeat another's content collapse and are
    counted. An episode whose task is unknown stands for a task of its own, one whose trial is unknown for a trial of
    its own. Raises InputError for conflicting duplicates, two raters of one criterion on one episode (unless `rater` is
    given), verdicts on no episode, and values that are none.
    """
    if frames.episodes is None:
        raise InputError("a table of results has no episodes to score: give episodes and verdicts, or read its totals.")
    episodes = _episodes(frames.episodes)
    target = _content_targets(episodes)
    verdicts, notes = one_verdict_each(frames.verdicts, episodes, target, rater)
    keep, duplicates = _without_duplicates(episodes, target, verdicts)
    position = np.full(len(episodes), -1, dtype=np.int64)
    position[keep] = np.arange(len(keep))
    rows = episodes.iloc[keep].drop(columns=["duplicate_of"]).reset_index(drop=True)
    verdicts = verdicts.assign(row=position[verdicts["row"].to_numpy()])
    verdicts = with_lacking(verdicts[verdicts["row"] >= 0], rows)
    families = tuple(str(name) for name in verdicts["family"].cat.categories)
    return Scored(
        rows=_scored_rows(rows, verdicts, families),
        verdicts=_joined(verdicts, rows),
        families=families,
        proxies=tuple(sorted(set(rows["proxy"]))),
        domains=tuple(sorted(set(rows["domain"]))),
        duplicates=duplicates,
        rater=rater,
        audited=frames.audited,
        notes=(*frames.notes, *notes),
    )


# ------------------------------------------------------------------------------------------------------- episodes


def _episodes(given: pd.DataFrame) -> pd.DataFrame:
    """Return the episodes checked, completed and in an order that does not depend on how they came."""
    import pandas as pd

    require(given, ["episode", *KEY, "status"], "episodes")
    frame = pd.DataFrame({"episode": given["episode"].astype(str).to_numpy(dtype=object)})
    for name in [*KEY, "agent", "status", "cost_basis"]:
        frame[name] = texts(given[name], UNKNOWN) if name in given else UNKNOWN
    for name in ("rubric", "duplicate_of"):
        frame[name] = texts(given[name], "") if name in given else ""
    for name in NUMBERS:
        frame[name] = numbers(given[name], name) if name in given else np.nan
    check_values(frame["status"], get_args(EpisodeStatus), "status of an episode")
    repeated = frame["episode"][frame["episode"].duplicated()]
    if len(repeated):
        raise InputError(f"episode {repeated.iloc[0]!r} stands twice among the episodes: give each episode its own id.")
    for name in ("task", "trial"):
        unknown = frame[name] == UNKNOWN
        frame.loc[unknown, name] = UNKNOWN + " of " + frame["episode"][unknown]
    return frame.sort_values(["domain", "task", "proxy", "trial", "episode"], kind="stable").reset_index(drop=True)


def _content_targets(episodes: pd.DataFrame) -> IntArray:
    """Return for each episode the position of the one that counts for its content: mostly its own."""
    import pandas as pd

    own = np.arange(len(episodes))
    named = pd.Index(episodes["episode"]).get_indexer(pd.Index(episodes["duplicate_of"]))
    target = np.where(named >= 0, named, own)
    for _ in range(len(target).bit_length() + 1):  # each step doubles how far along a chain the target lies
        target = target[target]
    circular = np.flatnonzero(target[target] != target)
    circular = circular if len(circular) else np.flatnonzero((target == own) & (named >= 0) & (named != own))
    if len(circular):
        first = episodes["episode"].iloc[int(circular[0])]
        raise InputError(f"episode {first!r} repeats one that repeats it: name one of them as the one that counts.")
    return target.astype(np.int64)


def _without_duplicates(
    episodes: pd.DataFrame, target: IntArray, verdicts: pd.DataFrame
) -> tuple[IntArray, Counter[tuple[str, str]]]:
    """Return the positions of the episodes that count, and how many collapsed by (proxy, domain)."""
    own = np.arange(len(episodes))
    counted = np.flatnonzero(target == own)
    kept = episodes.iloc[counted]
    group = kept.groupby(KEY, sort=False).ngroup().to_numpy().astype(np.int64)
    repeated = np.bincount(group)[group] > 1
    dropped = np.zeros(len(episodes), dtype=bool)
    dropped[target != own] = True
    if repeated.any():
        signature = _verdict_signatures(verdicts, len(episodes))
        _refuse_conflicts(kept[repeated], group[repeated], signature[counted[repeated]])
        order = np.lexsort((counted, kept[list(NUMBERS)].isna().sum(axis=1).to_numpy(), group))
        later = np.r_[False, np.diff(group[order]) == 0]
        dropped[counted[order][later]] = True
    lost = episodes[["proxy", "domain"]][dropped]
    duplicates = Counter(zip(lost["proxy"].tolist(), lost["domain"].tolist(), strict=True))
    return np.flatnonzero(~dropped), duplicates


def _verdict_signatures(verdicts: pd.DataFrame, episodes: int) -> NDArray[np.uint64]:
    """Return a hash of each episode's set of (criterion, value), the same whatever the order."""
    from pandas.util import hash_array

    held = verdicts["criterion"].cat.codes.to_numpy(np.int64) * len(VALUES) + verdicts["value"].to_numpy(np.int64) + 1
    hashes = hash_array(held)
    order = np.argsort(verdicts["row"].to_numpy(), kind="stable")
    rows = verdicts["row"].to_numpy()[order]
    starts = np.flatnonzero(np.r_[True, np.diff(rows) != 0]) if len(rows) else np.zeros(0, dtype=np.int64)
    signature = np.zeros(episodes, dtype=np.uint64)
    if len(rows):
        signature[rows[starts]] = np.add.reduceat(hashes[order], starts)
    return signature


def _refuse_conflicts(rows: pd.DataFrame, group: IntArray, signature: NDArray[np.uint64]) -> None:
    """Raise InputError where two episodes of one key differ; an unknown number does not differ from a known one."""
    frame = rows.assign(verdicts=signature, group=group)
    by_group = frame.groupby("group", sort=False)
    strict = {name: by_group[name].nunique(dropna=False) > 1 for name in ("agent", "status", "reward", "verdicts")}
    lax = {name: by_group[name].nunique() > 1 for name in NUMBERS if name != "reward"}
    for name, differs in {**strict, **lax}.items():
        if differs.any():
            two = frame[frame["group"] == differs.index[differs.to_numpy()][0]]
            proxy, domain, task, trial = two[KEY].iloc[0]
            raise InputError(
                f"episodes {two['episode'].iloc[0]!r} and {two['episode'].iloc[1]!r} both stand for proxy {proxy!r}, "
                f"domain {domain!r}, task {task!r}, trial {trial!r} and differ in {name}: {_remedy(name, proxy)}."
            )


def _remedy(difference: str, proxy: str) -> str:
    if proxy == UNKNOWN:
        return "name the proxy of each"
    if difference == "agent":
        return "compare proxies on the episodes of one agent"
    return "remove one of them, or give them different trials"


def _joined(verdicts: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the verdicts with their episode's id, proxy, domain, task and trial, and their values as words."""
    import pandas as pd

    at = verdicts["row"].to_numpy()
    frame = verdicts.reset_index(drop=True)
    frame["value"] = pd.Categorical.from_codes(
        frame["value"].to_numpy(np.int8), categories=pd.Index(VALUES, dtype=object)
    )
    for name in ("episode", *KEY):
        whole = categories(rows[name])
        frame[name] = pd.Categorical.from_codes(whole.codes[at], categories=whole.categories)
    return frame[[*VERDICT_COLUMNS, *KEY, "row"]]


# --------------------------------------------------------------------------------------------------------- scores


def _scored_rows(rows: pd.DataFrame, verdicts: pd.DataFrame, families: tuple[str, ...]) -> pd.DataFrame:
    at, value = verdicts["row"].to_numpy(np.int64), verdicts["value"].to_numpy()
    family = verdicts["family"].cat.codes.to_numpy(np.int64)
    width = max(1, len(families))

    def counted(wanted: NDArray[np.bool_]) -> IntArray:
        counts = np.bincount(at[wanted] * width + family[wanted], minlength=len(rows) * width)
        return counts.reshape(len(rows), width)

    failed, passed, missing = counted(value == FAIL), counted(value == PASS), counted(value == MISSING)
    ok = (rows["status"] == "ok").to_numpy()
    never = ok & (rows["rubric"] != "").to_numpy() & (np.bincount(at, minlength=len(rows)) == 0)
    lacking = missing.sum(axis=1) + never
    faithful, low, high = faithfulness(failed.sum(axis=1), passed.sum(axis=1), lacking)
    state = np.where(np.isnan(high), "undefined", np.where(np.isnan(faithful), "unscored", "scored"))
    state = np.where(ok, state, rows["status"].to_numpy(dtype=object)).astype(object)
    new: dict[str, Any] = {
        "state": state,
        "faithful": np.where(ok, faithful, np.nan),
        "faithful_low": np.where(ok, low, np.nan),
        "faithful_high": np.where(ok, high, np.nan),
        "failed": failed.sum(axis=1),
        "applicable": (failed + passed).sum(axis=1),
        "missing": lacking,
    }
    for place, name in enumerate(families):
        new[f"failed:{name}"] = failed[:, place]
        new[f"applicable:{name}"] = failed[:, place] + passed[:, place]
        new[f"missing:{name}"] = missing[:, place]
    return rows.drop(columns=["status"]).assign(**new)


def faithfulness(
    failed: NDArray[Any], passed: NDArray[Any], missing: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return f of each episode from its counts of verdicts, and f with every missing one failing, and passing.

    nan in the first is unscored or undefined; nan in the other two is undefined (nothing applied).
    """
    undefined = (failed + passed + missing) == 0
    high = np.where(undefined, np.nan, np.where(failed > 0, 0.0, 1.0))
    low = np.where(undefined, np.nan, np.where((failed > 0) | (missing > 0), 0.0, 1.0))
    faithful = np.where((failed == 0) & (missing > 0), np.nan, high)
    return faithful, low, high
