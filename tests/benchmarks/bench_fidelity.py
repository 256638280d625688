"""What a million verdicts cost, from a CSV to the report: `python tests/benchmarks/bench_fidelity.py [rollouts]`.

Seven proxies, 375 tasks, six criteria an episode and 67 rollouts (or as many as given), all made up. Runs the command
`usercal ufs verdicts.csv` in a process of its own and prints its seconds, the seconds of each step, and the most memory
that it held. Only memory has a limit here, 2 GB; seconds depend on the machine.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

from annotate.episodes import EpisodeFrames  # noqa: E402
from calibrate.fidelity.analysing import analyse  # noqa: E402
from calibrate.fidelity.results import Question  # noqa: E402
from calibrate.fidelity.scoring import score  # noqa: E402

PROXIES, TASKS, ROLLOUTS = 7, 375, 67
FAMILIES = ["premature_disclosure", "premature_disclosure", "groundedness", "missed_information"]
FAMILIES += ["goal_deviation", "goal_deviation"]
MOST_MEGABYTES = 2000.0


def made_up(rollouts: int) -> EpisodeFrames:
    """Return made-up frames of all proxies, tasks and rollouts."""
    rng = np.random.default_rng(0)
    proxy, task, trial = (axis.ravel() for axis in np.indices((PROXIES, TASKS, rollouts)))
    n, criteria = len(proxy), len(FAMILIES)
    episode = np.array([f"e_{at:08x}" for at in range(n)], dtype=object)
    counts = {name: rng.integers(3, 9, n) for name in ("user_turns", "agent_turns", "agent_tool_calls")}
    episodes = pd.DataFrame(
        {
            "episode": episode,
            "proxy": np.char.add("proxy", proxy.astype(str)),
            "agent": "agent",
            "domain": np.char.add("domain", (task % 4).astype(str)),
            "task": np.char.add("task", task.astype(str)),
            "trial": trial.astype(str),
            "status": "ok",
            "rubric": "r1",
            "reward": rng.integers(0, 2, n).astype(float),
            "cost_usd": 0.01 * (proxy + 1),
            "cost_basis": "billed",
            "seconds": 2.0,
            "agent_questions": rng.integers(0, 5, n),
            **counts,
        }
    )
    verdicts = pd.DataFrame(
        {
            "episode": np.repeat(episode, criteria),
            "criterion": np.char.add("c", np.tile(np.arange(criteria), n).astype(str)),
            "family": np.tile(FAMILIES, n),
            "mode": np.char.add("mode", np.tile(np.arange(criteria), n).astype(str)),
            "value": rng.choice(["pass", "fail", "na", "missing"], n * criteria, p=[0.85, 0.04, 0.1, 0.01]),
            "rater": "judge",
            "rater_kind": "model",
            "turn": 1,
            "quote": "words of the user",
        }
    )
    return EpisodeFrames(episodes=episodes, verdicts=verdicts)


def write_csv(frames: EpisodeFrames, path: Path) -> None:
    """Write the verdicts with the facts of their episodes, as somebody's judge might."""
    assert frames.verdicts is not None and frames.episodes is not None
    keys = frames.episodes[["episode", "proxy", "domain", "task", "trial", "reward", "cost_usd", "agent_turns"]]
    rows = frames.verdicts.drop(columns=["rater_kind"]).merge(keys, on="episode").drop(columns="episode")
    rows.rename(columns={"value": "verdict"}).to_csv(path, index=False)


def steps(frames: EpisodeFrames) -> None:
    """Print what scoring and analysis take by themselves."""
    assert frames.verdicts is not None
    start = time.process_time()
    scored = score(frames)
    middle = time.process_time()
    analyse(frames, Question(resamples=2000))
    end = time.process_time()
    print(f"{len(frames.verdicts):,} verdicts on {len(scored.rows):,} episodes")
    print(f"score     {middle - start:6.1f} s of the processor")
    print(f"analyse   {end - middle:6.1f} s of the processor, scoring among them, 2,000 resamples")


def main() -> int:
    """Print the figures; 1 where the command held more memory than it may."""
    frames = made_up(int(sys.argv[1]) if len(sys.argv) > 1 else ROLLOUTS)
    steps(frames)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "verdicts.csv"
        write_csv(frames, path)
        del frames
        words = [sys.executable, "-c", "from apps.cli import main; main()", "ufs", str(path), "--out", f"{folder}/out"]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        start = time.monotonic()
        subprocess.run(words, cwd=folder, env=env, check=True, stdout=subprocess.DEVNULL)
        seconds = time.monotonic() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    megabytes = used.ru_maxrss / 1000
    spent = used.ru_utime + used.ru_stime
    print(f"usercal ufs verdicts.csv: {seconds:.1f} s, {spent:.1f} s of the processor, ", end="")
    print(f"at most {megabytes:,.0f} MB (limit {MOST_MEGABYTES:,.0f})")
    return int(megabytes > MOST_MEGABYTES)


if __name__ == "__main__":
    sys.exit(main())
