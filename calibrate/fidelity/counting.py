"""What episodes became of, which families failed, and UFS on other sets of criteria or of rollouts."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from calibrate.estimate import Estimate
from calibrate.fidelity.border import UNKNOWN
from calibrate.fidelity.judged import VALUES
from calibrate.fidelity.means import TaskSums
from calibrate.fidelity.results import Counts, FamilyCount
from calibrate.fidelity.scoring import Scored, faithfulness

if TYPE_CHECKING:
    import pandas as pd

FloatArray = NDArray[np.float64]
COMPLETED = ("scored", "undefined", "unscored")
"""States of an episode that ran to its end, whether or not it could be scored."""
QUOTES = 3
FAMILY_KEY = ["proxy", "family"]
MODE_KEY = [*FAMILY_KEY, "mode"]
EVERY_POWER = 8  # of UFS^k every k up to here is given, and powers of two beyond


def counts_of(scored: Scored, proxy: str, domain: str | None = None) -> Counts:
    """Return a proxy's episodes by what became of them, in one domain or in all; `total` holds collapsed duplicates."""
    rows = scored.rows[(scored.rows["proxy"] == proxy).to_numpy()]
    if domain is not None:
        rows = rows[(rows["domain"] == domain).to_numpy()]
    states = rows["state"].value_counts()
    duplicates = sum(
        number for (name, place), number in scored.duplicates.items() if name == proxy and domain in (None, place)
    )
    ran = rows["state"].isin(COMPLETED)
    return Counts(
        total=len(rows) + duplicates,
        scored=int(states.get("scored", 0)),
        undefined=int(states.get("undefined", 0)),
        unscored=int(states.get("unscored", 0)),
        infra_errors=int(states.get("infra_error", 0)),
        not_scorable=int(states.get("not_scorable", 0)),
        duplicates=duplicates,
        missing_verdicts=int(rows["missing"][ran].sum()),
    )


def completed(scored: Scored) -> pd.DataFrame:
    """Return the rows of episodes that ran."""
    return scored.rows[scored.rows["state"].isin(COMPLETED).to_numpy()]


# ------------------------------------------------------------------------------------------------ failure profile


def family_counts(scored: Scored) -> dict[str, tuple[FamilyCount, ...]]:
    """Return for each proxy how often each family and each of its modes failed, families in order, modes after them.

    Of episodes that ran. A family or mode without a verdict for a proxy is left out; so are verdicts that name no mode,
    among the modes.
    """
    ran = scored.rows["state"].isin(COMPLETED).to_numpy()
    held = scored.verdicts[ran[scored.verdicts["row"].to_numpy()]]
    held = held[held["value"].isin(["pass", "fail"]).to_numpy()]
    failing = held[(held["value"] == "fail").to_numpy()]
    quotes = _quotes(failing)
    found: list[tuple[str, FamilyCount]] = []
    for names in (FAMILY_KEY, MODE_KEY):
        applicable = _sizes(held, names)
        verdicts, episodes = _sizes(failing, names), _sizes(failing.drop_duplicates([*names, "row"]), names)
        for key, n in applicable.items():
            mode = key[2] if len(key) > 2 else None
            if mode == UNKNOWN:  # no mode was named
                continue
            own = tuple(quotes.get(key, [])[:QUOTES])
            found.append((key[0], FamilyCount(key[1], mode, episodes.get(key, 0), verdicts.get(key, 0), n, own)))
    found.sort(key=lambda item: (item[0], item[1].family, item[1].mode or ""))
    return {name: tuple(count for proxy, count in found if proxy == name) for name in scored.proxies}


def _sizes(verdicts: pd.DataFrame, names: list[str]) -> dict[tuple[str, ...], int]:
    return {_texts_of(key): int(n) for key, n in verdicts.groupby(names, observed=True).size().items()}


def _texts_of(key: object) -> tuple[str, ...]:
    return tuple(str(part) for part in cast("tuple[object, ...]", key))


def _quotes(failing: pd.DataFrame) -> dict[tuple[str, ...], list[str]]:
    """Return up to three different quotes of failing verdicts by (proxy, family) and (proxy, family, mode)."""
    spoken = failing[failing["quote"].notna().to_numpy()]
    spoken = spoken[(spoken["quote"].astype(str).str.strip() != "").to_numpy()]
    found: dict[tuple[str, ...], list[str]] = {}
    for names in (FAMILY_KEY, MODE_KEY):
        first = spoken.drop_duplicates([*names, "quote"]).groupby(names, observed=True).head(QUOTES)
        for *key, quote in first[[*names, "quote"]].itertuples(index=False, name=None):
            found.setdefault(_texts_of(tuple(key)), []).append(str(quote))
    return found


# --------------------------------------------------------------------------------------- other sets of criteria


def without_family(scored: Scored, family: str) -> FloatArray:
    """Return f of each row of `scored.rows` on the criteria of all other families; nan unless scored on them."""
    rows = scored.rows
    failed = rows["failed"].to_numpy() - rows[f"failed:{family}"].to_numpy()
    passed = rows["applicable"].to_numpy() - rows[f"applicable:{family}"].to_numpy() - failed
    missing = rows["missing"].to_numpy() - rows[f"missing:{family}"].to_numpy()
    return _where_completed(rows, faithfulness(failed, passed, missing)[0])


def on_common_criteria(scored: Scored) -> FloatArray:
    """Return f of each row on the criteria that apply to all proxies of its task; nan unless scored on them.

    A criterion applies to a proxy where it does in one of its rollouts; a missing verdict may apply. Proxies of a task
    are those with an episode that ran.
    """
    rows, verdicts = scored.rows, scored.verdicts
    ran = rows["state"].isin(COMPLETED).to_numpy()
    task = rows.groupby(["domain", "task"], sort=False).ngroup().to_numpy(np.int64)
    proxy = np.searchsorted(np.array(scored.proxies), rows["proxy"].to_numpy(dtype=str)) if len(rows) else task
    at, value = verdicts["row"].to_numpy(np.int64), verdicts["value"].cat.codes.to_numpy(np.int64)
    counts = ran[at] & (value != VALUES.index("na"))
    width = max(1, len(verdicts["criterion"].cat.categories))
    key = task[at] * width + verdicts["criterion"].cat.codes.to_numpy(np.int64)
    criteria, criterion = np.unique(key, return_inverse=True)
    applies = np.zeros((len(criteria), len(scored.proxies)), dtype=bool)
    applies[criterion[counts], proxy[at[counts]]] = True
    has = np.zeros((int(task.max(initial=-1)) + 1, len(scored.proxies)), dtype=bool)
    has[task[ran], proxy[ran]] = True
    common = (applies >= has[criteria // width]).all(axis=1)
    kept = counts & common[criterion]

    def counted(wanted: str) -> NDArray[np.int64]:
        return np.bincount(at[kept & (value == VALUES.index(wanted))], minlength=len(rows))

    return _where_completed(rows, faithfulness(counted("fail"), counted("pass"), counted("missing"))[0])


def _where_completed(rows: pd.DataFrame, faithful: FloatArray) -> FloatArray:
    return np.where(rows["state"].isin(COMPLETED).to_numpy(), faithful, np.nan)


# ------------------------------------------------------------------------------------------------------- rollouts


def powers(sums: TaskSums, proxy: str, level: float) -> dict[int, Estimate]:
    """Return UFS^k by k, the chance that k of k rollouts of a task are faithful; empty where each task has only one.

    Mean over domains of the mean over tasks of C(c, k)/C(n, k), c faithful of n ≥ k scored rollouts: unbiased.
    """
    at = sums.proxies.index(proxy)
    most = int(max((sizes[:, at].max(initial=0) for sizes in sums.sizes), default=0))
    if most < 2:
        return {}
    wanted = [k for k in range(1, most + 1) if k <= EVERY_POWER or k & (k - 1) == 0]
    return {k: power(sums, proxy, k, level) for k in wanted}


def power(sums: TaskSums, proxy: str, k: int, level: float) -> Estimate:
    """Return UFS^k of a proxy, for new tasks; n counts the tasks with at least k scored rollouts."""
    at = sums.proxies.index(proxy)
    values, sizes = [], []
    for faithful, rollouts in zip(sums.sums, sums.sizes, strict=True):
        enough = rollouts[:, [at]] >= k
        values.append(np.where(enough, all_of_k(faithful[:, [at]], rollouts[:, [at]], k), 0.0))
        sizes.append(enough.astype(np.float64))
    every = np.concatenate([value.ravel() for value in values]) if values else np.zeros(0)
    whole = bool(np.isin(every, (0.0, 1.0)).all())
    own = TaskSums((proxy,), sums.domains, tuple(values), tuple(sizes), whole=whole)
    return own.estimate_over(f"UFS^{k}", proxy, "domains", level, nothing=f"no task with {k} scored rollouts")


def all_of_k(faithful: FloatArray, rollouts: FloatArray, k: int) -> FloatArray:
    """Return C(c, k)/C(n, k) for c faithful of n rollouts, 0 where c < k, nan where n < k."""
    share = np.ones_like(rollouts)
    with np.errstate(divide="ignore", invalid="ignore"):
        for step in range(k):
            share = share * np.clip(faithful - step, 0.0, None) / (rollouts - step)
    return np.where(rollouts >= k, share, np.nan)
