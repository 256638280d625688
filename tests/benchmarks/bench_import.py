"""What importing results of tau2 costs: `python tests/benchmarks/bench_import.py [megabytes] [rounds]`.

Real episodes (made-up ones where there are none beside the project, or below USERCAL_SHARED) are written again and
again under new names into one large file: once in the usual order, once with the episodes before what belongs to all
of them, which asks for a second pass. A child process imports each file into a new store and tells the processor time
of the import and the most memory that it held; in the same process a bare pass of ijson over the episodes tells what
the machine can do. The import must hold less than 500 MB and take at most six times as long as the bare pass.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

SHARED = Path(os.environ.get("USERCAL_SHARED") or ROOT.parent / "shared")
SOURCES = ("tau2_telecom_gpt4.1_u-gpt4.1_40.json", "tau2_retail_gpt4.1_u-gpt4.1_40.json")
MOST_MEGABYTES = 500
MOST_TIMES = 6.0
TEXT = "I see that there is an airplane icon at the top of my phone, and nothing about signal bars. What now? " * 3


def made_up() -> dict[str, Any]:
    """Return results of one telecom task with a user who has a tool, where no real ones are at hand."""
    messages: list[dict[str, Any]] = [{"role": "assistant", "content": "Hi! How can I help you today?"}]
    for turn in range(10):
        usage = {"completion_tokens": 60, "prompt_tokens": 2000 + turn}
        call = {"id": f"call_{turn}", "name": "check_status_bar", "arguments": {"turn": turn}, "requestor": "user"}
        answer = {"choices": [{"message": {"content": TEXT}}], "model": "m", "usage": usage}
        shared = {"cost": 0.002, "usage": usage, "raw_data": answer}
        messages += [
            {"role": "user", "content": TEXT, "tool_calls": None, **shared},
            {"role": "assistant", "content": TEXT, "tool_calls": None, **shared},
            {"role": "user", "content": None, "tool_calls": [call], **shared},
            {"id": f"call_{turn}", "role": "tool", "content": "Status: airplane", "requestor": "user", "error": False},
            {"role": "user", "content": TEXT, "tool_calls": None, **shared},
            {"role": "assistant", "content": TEXT, "tool_calls": None, **shared},
        ]
    messages.append({"role": "user", "content": "Thanks. ###STOP###", "tool_calls": None})
    told = {"reason_for_call": "Mobile data does not work.", "known_info": "You are Jo.", "task_instructions": TEXT}
    return {
        "timestamp": "2025-08-01T16:23:24",
        "info": {"user_info": {"llm": "m"}, "agent_info": {"llm": "a"}, "environment_info": {"domain_name": "telecom"}},
        "tasks": [{"id": "one", "user_scenario": {"persona": None, "instructions": told}}],
        "simulations": [{
            "id": "s", "task_id": "one", "termination_reason": "user_stop", "user_cost": 0.02, "trial": 0,
            "reward_info": {"reward": 1.0}, "messages": messages,
        }],
    }  # fmt: skip


def sources() -> list[dict[str, Any]]:
    """Return the results to be repeated."""
    found = [SHARED / "data" / "tau" / name for name in SOURCES]
    there = [json.loads(path.read_text("utf-8")) for path in found if path.is_file()]
    return there or [made_up()]


def episodes(told: list[dict[str, Any]]) -> Iterator[str]:
    """Yield episodes as text, without end, each under a new name."""
    number = 0
    while True:
        for results in told:
            for episode in results["simulations"]:
                number += 1
                yield json.dumps({**episode, "id": f"{number:08d}", "trial": number}, indent=2)


def write(path: Path, megabytes: float, episodes_first: bool) -> None:
    """Write a file of the given size."""
    told = sources()
    head = ['"timestamp": "2025-08-01"', f'"info": {json.dumps(told[0]["info"])}',
            f'"tasks": {json.dumps([task for results in told for task in results["tasks"]])}']  # fmt: skip
    with path.open("w", encoding="utf-8") as file:
        file.write("{" + ("" if episodes_first else ", ".join(head) + ", ") + '"simulations": [')
        stream = episodes(told)
        file.write(next(stream))
        while file.tell() < megabytes * 1e6:
            file.write(",\n" + next(stream))
        file.write("]" + (", " + ", ".join(head) if episodes_first else "") + "}")


def child(path: Path, folder: Path) -> dict[str, float]:
    """Import the file, then pass over it with ijson; return processor times, and the memory before the second."""
    import ijson

    from annotate.imports import import_paths
    from annotate.store import Store

    def once(file: Path, name: str) -> tuple[float, int]:
        with Store.open(f"sqlite:///{folder / name}") as store:
            began = time.process_time()
            summary = import_paths(store, [file], pseudonym=lambda person: person)
            return time.process_time() - began, summary.new

    small = folder / "small.json"
    write(small, 0.1, False)
    once(small, "small.db")  # loads the modules, which is no part of reading a file
    seconds, count = once(path, "store.db")
    peak = memory()
    began = time.process_time()
    with path.open("rb") as file:
        passed = sum(1 for _ in ijson.items(file, "simulations.item"))
    bare = time.process_time() - began
    if passed != count:
        raise SystemExit(f"{count} episodes were imported, and the file has {passed}")
    return {"seconds": seconds, "bare": bare, "megabytes": peak, "episodes": count}


def memory() -> float:
    """Return the most memory that this process held, in megabytes."""
    if sys.platform == "win32":
        raise SystemExit("this benchmark needs a system that tells how much memory a process held")
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


def measure(path: Path) -> dict[str, float]:
    """Return what a child process measured."""
    with tempfile.TemporaryDirectory() as folder:
        said = subprocess.run(
            [sys.executable, __file__, "child", str(path), folder], check=True, capture_output=True, text=True
        )
    found: dict[str, float] = json.loads(said.stdout)
    return found


def main(megabytes: float = 120, rounds: int = 3) -> int:
    """Run the benchmark; the exit code is 1 where the import holds too much or takes too long."""
    good = True
    with tempfile.TemporaryDirectory() as folder:
        for name, first in (("usual order", False), ("episodes first", True)):
            path = Path(folder) / "results.json"
            write(path, megabytes, first)
            size = path.stat().st_size / 1e6
            told = [measure(path) for _ in range(int(rounds))]
            seconds, bare = min(one["seconds"] for one in told), min(one["bare"] for one in told)
            peak, times = max(one["megabytes"] for one in told), seconds / bare
            print(f"{name:16} {size:,.0f} MB, {told[0]['episodes']:,.0f} episodes: {seconds:.2f} s of processor time, "
                  f"{size / seconds:.1f} MB/s; bare ijson {bare:.2f} s, {size / bare:.1f} MB/s")  # fmt: skip
            print(f"  ratio          {times:.2f}   at most {MOST_TIMES:g}")
            print(f"  memory         {peak:.0f} MB   at most {MOST_MEGABYTES}")
            good = good and times <= MOST_TIMES and peak <= MOST_MEGABYTES
            path.unlink()
    return 0 if good else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        print(json.dumps(child(Path(sys.argv[2]), Path(sys.argv[3]))))
    else:
        sys.exit(main(*(float(number) for number in sys.argv[1:])))
