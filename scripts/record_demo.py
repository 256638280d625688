"""Bring the demo's recording up to date: run its whole chain, and keep the calls beside the demo study.

    python scripts/record_demo.py            asks the embedded model only what the recording does not hold
    python scripts/record_demo.py --anew     asks everything again, about 20 minutes on two cores

Resumes after a kill by the same command.

Needed whenever a prompt, a setting or the demo study has changed: `usercal demo` then says that no recorded reply fits.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from annotate.schema import Call
from annotate.study import Study
from apps.cli import work
from apps.cli.demo import MARK, RECORDING, import_demo, make_study
from simulate import local
from simulate.ledger import StoreLedger
from simulate.llm import LayeredLedger, Ledger, RecordedLedger, write_recording
from simulate.plan import Planner

HOME = Path(__file__).resolve().parent.parent / "data" / "demo" / RECORDING


def study_at(out: Path) -> Study:
    """Return the study of an unfinished recording, or a new one."""
    if (out / MARK).is_file() and (out / MARK).read_text("utf-8") == "recording":
        return Study.open(out)
    study = make_study(out, live=False, concurrency=2)
    (out / MARK).write_text("recording", "utf-8")
    import_demo(study)
    return study


def main() -> int:
    """Run the demo's plan live, then write the recording; returns 1 while a cell is not done."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("usercal-demo-recording"), help="the folder to work in")
    parser.add_argument("--anew", action="store_true", help="do not use what is recorded already")
    options = parser.parse_args()
    study = study_at(options.out)
    local.pull("local/smollm2")
    with study.open_store() as store:
        planner = Planner(study.config, study.config.run, work.tasks_of(study, study.config.run, store), store)
        plan = planner.plan()
        for line in work.plan_lines(plan):
            print(line, flush=True)
        kept: Ledger = StoreLedger(store)
        ledger = kept if options.anew or not HOME.is_file() else LayeredLedger(RecordedLedger(HOME), kept)
        summary, spending = work.execute(planner, plan, study, ledger=ledger, meter=work.Meter())
        lines, _, code = work.outcome(summary, spending)
        print("\n".join(lines))
        if code:
            print("Not written: run the same command again.")
            return 1
        print(f"wrote       {write_recording(store.iterate(Call), HOME)} calls, {HOME.stat().st_size / 1e3:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
