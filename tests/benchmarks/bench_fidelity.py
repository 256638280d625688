"""What a million verdicts cost: `python tests/benchmarks/bench_fidelity.py [rollouts]`.

Seven proxies, 375 tasks, six criteria an episode and 67 rollouts (or as many as given), all made up. Prints processor
seconds of scoring and of the whole analysis with 2,000 resamples, and the most memory that the process held. The
analysis must take at most 25 s of processor time and 1.5 GB.
"""

from __future__ import annotations

import resource
import sys
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
MOST_SECONDS, MOST_MEGABYTES = 25.0, 1500.0


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


def main() -> int:
    """Print the figures; 1 where one is above its limit."""
    frames = made_up(int(sys.argv[1]) if len(sys.argv) > 1 else ROLLOUTS)
    assert frames.verdicts is not None
    start = time.process_time()
    score(frames)
    scored = time.process_time()
    analyse(frames, Question(resamples=2000))
    seconds = time.process_time() - scored
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(f"{len(frames.verdicts):,} verdicts   score {scored - start:.1f} s   analyse {seconds:.1f} s", end="   ")
    print(f"at most {megabytes:,.0f} MB, the tables among them")
    return int(seconds > MOST_SECONDS or megabytes > MOST_MEGABYTES)


if __name__ == "__main__":
    sys.exit(main())
