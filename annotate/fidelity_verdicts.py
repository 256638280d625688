"""A table of verdicts, one row per criterion of an episode, read into the frames that fidelity is counted from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from annotate.episodes import EPISODE_COLUMNS, EpisodeFrames
from annotate.errors import InputError, nearest
from annotate.fidelity_columns import Columns, read_columns
from annotate.fidelity_numbers import amount, reward, whole_number, whole_or_negative
from annotate.verdict_choice import VALUES, one_rater, verdict_frame

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

NAMES: dict[str, tuple[str, ...]] = {
    "proxy": ("user_proxy", "user_model", "user_simulator", "simulator"),
    "domain": (),
    "task": ("task_id",),
    "trial": ("rollout", "trial_id"),
    "criterion": ("criterion_id",),
    "family": ("failure_family",),
    "mode": ("failure_mode",),
    "verdict": ("judgment", "judgement", "passed", "value"),
    "rater": ("judge", "rater_id"),
    "rater_kind": (),
    "turn": (),
    "quote": ("evidence",),
    "agent": ("agent_model",),
    "status": (),
    "status_reason": (),
    "ended": ("termination_reason",),
    "reward": ("agent_reward",),
    "cost_usd": ("user_cost", "user_cost_usd"),
    "prompt_tokens": (),
    "completion_tokens": (),
    "seconds": ("duration", "duration_seconds"),
    "user_turns": (),
    "agent_turns": (),
    "agent_tool_calls": (),
    "agent_questions": (),
    "rubric": (),
}
"""Column → other names that it may have."""
REQUIRED = ("proxy", "domain", "task", "criterion", "family", "verdict")
NUMBERS: dict[str, Callable[[str], float]] = {
    "reward": reward,
    "cost_usd": amount,
    "prompt_tokens": whole_number,
    "completion_tokens": whole_number,
    "seconds": amount,
    "user_turns": whole_number,
    "agent_turns": whole_number,
    "agent_tool_calls": whole_number,
    "agent_questions": whole_number,
}
TEXTS = ("agent", "status", "status_reason", "ended", "rubric")
_WORDS = {
    "pass": ("pass", "passes", "passed", "true", "1", "1.0", "yes", "y", "kept", "met"),
    "fail": ("fail", "fails", "failed", "false", "0", "0.0", "no", "violated", "not met"),
    "na": ("na", "n/a", "n.a.", "not applicable", "inapplicable", "does not apply"),
    "missing": ("missing", "error", "none", "null", "nan", "unparsable", "unreadable", "skipped", "unknown", "-", "?"),
}
_VALUE = {word: value for value, words in _WORDS.items() for word in words}
_STATUS = {
    "ok": "ok", "completed": "ok", "scored": "ok",
    "infra error": "infra_error", "infrastructure error": "infra_error", "infra": "infra_error", "error": "infra_error",
    "not scorable": "not_scorable", "unscorable": "not_scorable",
}  # fmt: skip


def read_verdicts(path: Path, *, rater: str | None = None) -> EpisodeFrames:
    """Read a CSV, JSON Lines or Parquet file of verdicts; a row without criterion and verdict only names an episode.

    Columns: `NAMES`; proxy, domain, task, criterion, family and verdict are required, trial is "0" where not given.
    Facts of an episode may stand on one of its rows or on all. `rater` says whose verdicts count where several judged
    the same.
    Raises `InputError` with line, rule, value and remedy; repeated rows are counted once and noted.
    """
    columns = read_columns(path, NAMES, REQUIRED)
    if columns.rows == 0:
        raise InputError(f"{path}: has no rows. Check the export that wrote it.")
    episode, first = _episodes(columns)
    episodes = _episode_frame(columns, episode, first)
    notes = list(columns.notes)
    verdicts = _verdicts(columns, episode, episodes, notes)
    verdicts, said = one_rater(verdicts, rater, str(path))
    if columns.unused:
        notes.append(f"{path.name}: columns not used: {', '.join(columns.unused)}")
    return EpisodeFrames(episodes=episodes, verdicts=verdicts, source=str(path), notes=(*notes, *said))


def _value(text: str) -> str:
    word = " ".join(text.casefold().replace("_", " ").replace("-", " ").split()) or "-"
    if word not in _VALUE:
        raise ValueError(f"{text!r} is no verdict{nearest(word, _VALUE)} Write pass, fail, na or missing.")
    return _VALUE[word]


def _status(text: str) -> str:
    word = " ".join(text.casefold().replace("_", " ").replace("-", " ").split())
    if word not in _STATUS:
        raise ValueError(f"{text!r} is no status{nearest(word, _STATUS)} Write ok, infra_error or not_scorable.")
    return _STATUS[word]


def _kind(text: str) -> str:
    if text.casefold() not in ("human", "model"):
        raise ValueError(f"{text!r} is no kind of rater. Write human or model.")
    return text.casefold()


def _episodes(columns: Columns) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (number of the episode by row, first row by episode); episodes are numbered as they come."""
    import numpy as np
    import pandas as pd

    key = np.zeros(columns.rows, dtype=np.int64)
    for name in ("proxy", "domain", "task", "trial"):
        if name not in columns.cells:
            continue
        codes = columns.codes(name)
        if name != "trial" and (codes < 0).any():
            row = int((codes < 0).argmax())
            raise InputError(
                f"{columns.place(row)}: column {columns.names[name]!r} is empty, and every row needs it. Fill it in."
            )
        if name == "trial":
            codes = _trial_codes(columns)
        # Numbered anew after each column, so that the key cannot grow over 64 bits.
        key = np.asarray(pd.factorize(key * (codes.max() + 1) + codes)[0], dtype=np.int64)
    numbered, _ = pd.factorize(key)
    first = np.zeros(int(numbered.max()) + 1, dtype=np.int64)
    first[numbered[::-1]] = np.arange(columns.rows)[::-1]
    return np.asarray(numbered, dtype=np.int64), first


def _trial_codes(columns: Columns) -> NDArray[np.int64]:
    """Return the codes of the trials; an empty cell is trial 0."""
    import numpy as np

    codes, names = columns.codes("trial"), list(columns.cells["trial"].categories)
    return np.where(codes < 0, names.index("0") if "0" in names else len(names), codes)


def _episode_frame(columns: Columns, episode: NDArray[np.int64], first: NDArray[np.int64]) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    frame: dict[str, Any] = {}
    for name in ("proxy", "domain", "task", "trial"):
        cells = columns.cells.get(name)
        frame[name] = ["0"] * len(first) if cells is None else pd.Series(cells[first], dtype=object).fillna("0")
    for name in TEXTS:
        frame[name] = _agreed_texts(columns, name, episode, len(first))
    frame["status"] = frame["status"].fillna("ok")
    for name, convert in NUMBERS.items():
        frame[name] = _agreed_numbers(columns, name, convert, episode, len(first))
    made = pd.DataFrame(frame)
    made["episode"] = _ids(made)
    made["cost_basis"] = np.where(made["cost_usd"].notna(), "billed", "unknown")
    made["list_cost_usd"] = np.nan
    made["tokens_estimated"] = False
    made["duplicate_of"] = None
    return made[EPISODE_COLUMNS]


def _ids(episodes: pd.DataFrame) -> pd.Series[str]:
    """Return an id for each episode that says what it is; a bar within a name is doubled, so no two are alike."""
    parts = [episodes[name].str.replace("|", "||", regex=False) for name in ("proxy", "domain", "task", "trial")]
    return parts[0] + " | " + parts[1] + " | " + parts[2] + " | " + parts[3]


def _agreed_texts(columns: Columns, name: str, episode: NDArray[np.int64], count: int) -> pd.Series[Any]:
    import numpy as np
    import pandas as pd

    if name not in columns.cells:
        return pd.Series([None] * count, dtype=object)
    texts = columns.mapped(name, _status if name == "status" else str)
    places = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    codes = np.asarray([*(places[text] for text in texts), -1])[columns.codes(name)]
    agreed = _agreed(columns, name, codes, episode, count)
    return pd.Series(np.asarray([*places, None], dtype=object)[agreed], dtype=object)


def _agreed_numbers(
    columns: Columns, name: str, convert: Callable[[str], float], episode: NDArray[np.int64], count: int
) -> NDArray[np.float64]:
    import numpy as np
    import pandas as pd

    if name not in columns.cells:
        return np.full(count, np.nan)
    codes, values = pd.factorize(columns.numbers(name, convert))
    agreed = _agreed(columns, name, np.asarray(codes, dtype=np.int64), episode, count)
    return np.asarray([*values, np.nan], dtype=np.float64)[agreed]


def _agreed(
    columns: Columns, name: str, codes: NDArray[np.int64], episode: NDArray[np.int64], count: int
) -> NDArray[np.int64]:
    """Return the one code of each episode, -1 where all its cells are blank; `InputError` where two rows differ."""
    import numpy as np

    rows = np.flatnonzero(codes >= 0)
    agreed = np.full(count, -1, dtype=np.int64)
    agreed[episode[rows][::-1]] = codes[rows][::-1]
    other = rows[codes[rows] != agreed[episode[rows]]]
    if len(other):
        row = int(other[0])
        mate = int(rows[(episode[rows] == episode[row])][0])
        cells = columns.cells[name]
        trial = "0" if "trial" not in columns.cells or columns.codes("trial")[row] < 0 else columns.cells["trial"][row]
        raise InputError(
            f"{columns.place(row)}: {columns.names[name]!r} is {cells[row]!r}, and {cells[mate]!r} on another row of "
            f"the same episode (proxy {columns.cells['proxy'][row]!r}, domain {columns.cells['domain'][row]!r}, task "
            f"{columns.cells['task'][row]!r}, trial {trial!r}). Correct one of them, or give the episodes different "
            "trials."
        )
    return agreed


def _verdicts(columns: Columns, episode: NDArray[np.int64], episodes: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Return the verdict frame; rows without a criterion are left out after a check that they hold no verdict."""
    import numpy as np
    import pandas as pd

    texts = columns.mapped("verdict", _value)
    values = np.asarray([*(VALUES.index(v) for v in texts), VALUES.index("missing")])[columns.codes("verdict")]
    if "NA" in columns.cells["verdict"].categories:
        notes.append(
            f"{columns.path.name}: NA was read as 'not applicable'; write 'missing' for a verdict that was never given"
        )
    criterion = columns.codes("criterion")
    given = values != VALUES.index("missing")
    for name, what, filled in (("criterion", "verdict", given), ("family", "criterion", criterion >= 0)):
        stray = (columns.codes(name) < 0) & filled
        if stray.any():
            row = int(stray.argmax())
            raise InputError(
                f"{columns.place(row)}: column {columns.names[name]!r} is empty beside the {what} "
                f"{columns.cells[what][row]!r}. Fill it in."
            )
    rows = np.flatnonzero(criterion >= 0)
    turns = columns.numbers("turn", whole_or_negative) if "turn" in columns.cells else np.full(columns.rows, np.nan)
    frame = verdict_frame(
        episode=pd.Categorical.from_codes(episode[rows], categories=pd.Index(episodes["episode"], dtype=object)),
        value=values[rows],
        turn=turns[rows],
        rater_kind=_kinds(columns)[rows],
        **{name: columns.cells[name][rows] if name in columns.cells else pd.Categorical([None] * len(rows))
           for name in ("criterion", "family", "mode", "rater", "quote")},
    )  # fmt: skip
    return _without_repeats(columns, rows, frame, notes)


def _kinds(columns: Columns) -> pd.Categorical:
    import numpy as np
    import pandas as pd

    kinds = pd.Index(["human", "model"], dtype=object)
    if "rater_kind" not in columns.cells:
        return pd.Categorical.from_codes(np.full(columns.rows, 1), categories=kinds)
    codes = [list(kinds).index(kind) for kind in columns.mapped("rater_kind", _kind)]
    return pd.Categorical.from_codes(np.asarray([*codes, 1])[columns.codes("rater_kind")], categories=kinds)


def _without_repeats(columns: Columns, rows: NDArray[np.int64], frame: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Drop verdicts that say the same again, and note how many; `InputError` where they say something else."""
    keys = ["episode", "criterion", "rater"]
    codes = frame[keys].apply(lambda column: column.cat.codes)
    repeated = codes.duplicated().to_numpy()
    if not repeated.any():
        return frame
    first = codes.assign(value=frame["value"].cat.codes, family=frame["family"].cat.codes)
    other = codes.duplicated().to_numpy() & ~first.duplicated().to_numpy()
    if other.any():
        at = int(other.argmax())
        before = frame.iloc[int((codes == codes.iloc[at]).all(axis=1).to_numpy().argmax())]
        raise InputError(
            f"{columns.place(int(rows[at]))}: criterion {frame['criterion'].iloc[at]!r} is {frame['value'].iloc[at]!r} "
            f"({frame['family'].iloc[at]}) and was {before['value']!r} ({before['family']}) on an earlier row of the "
            "same episode and rater. Remove one of the two, or give the episodes different trials."
        )
    notes.append(f"{columns.path.name}: {int(repeated.sum()):,} verdicts stand twice and were counted once")
    standing: pd.DataFrame = frame[~repeated].reset_index(drop=True)
    return standing
