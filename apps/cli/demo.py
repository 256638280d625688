"""`usercal demo`: the whole chain on the demo study."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from annotate.errors import MissingExtraError, StudyError
from annotate.study import Study, alone
from apps.cli.options import answer, json_option, row, shown_path

if TYPE_CHECKING:
    from calibrate.report.published import Published

RECORDING = "calls.jsonl.gz"
MARK = ".usercal-demo"
MADE = frozenset(
    {MARK, ".gitignore", "study.toml", "study.key", "store.db", "store.db-wal", "store.db-shm", "conversations.jsonl"}
    | {"report.html", "report.md", "report.json", "reports"}
)
"""What a demo makes in its folder, and may replace there; nothing else is ever removed."""
STRATEGIES = ("zero_shot_cot", "profile_length")
LIVE_TASKS = {"math_tutoring": 4, "document_creation": 2}
LIVE_STRATEGIES = ("zero_shot_cot", "profile_interaction_length")
LIVE_SCALES = ("interaction", "turing")
LIVE_CALLS = 150
PUBLISHED_Q = 0.84
PUBLISHED_RESAMPLES = 20_000
PUBLISHED_SOURCE = (
    "Seven user proxies, one agent, 375 tau-bench tasks: the totals of Tables 1 and 2 of UserProxyBench (Jain and "
    "Sandhu, 2026), recomputed; the verdicts are those of the paper's judge."
)

CONFIG = """\
# The demo study of UserCal: conversations and ratings written by its authors, not human data.
[study]
name = "UserCal demo"
scopes = ["take_part", "share_deidentified", "share_verbatim"]
scopes_basis = "written by the authors of UserCal, Apache-2.0"

[models.small]
model = "local/smollm2"      # 135M parameters: a pipeline exercise, not evidence
temperature = 0.7
seed = 7
concurrency = {concurrency}

[run]
name = "{name}"
strategies = {strategies}
user = "small"
assistant = "small"
document = "small"
extractor = "small"
judges = ["small"]
max_user_turns = 3
prompt_tokens = {prompt}
user_max_tokens = {reply}
assistant_max_tokens = {reply}
concurrency = {concurrency}
{more}
[report]
resamples = 2000
seed = 7
"""


@click.command(epilog="Examples:  usercal demo   usercal demo --live")
@click.option(
    "--live",
    is_flag=True,
    help="Ask the embedded model on this machine now (about 8 minutes, 93 MB once) "
    "instead of replaying its recorded replies.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The folder of the demo study (else ./usercal-demo, or ./usercal-demo-live); an earlier recorded demo there "
    "is replaced, a live one is gone on with.",
)
@click.option(
    "--calls",
    type=click.IntRange(1, LIVE_CALLS),
    default=LIVE_CALLS,
    show_default=True,
    help="With --live: at most this many calls.",
)
@click.option("--open/--no-open", "show", default=False, help="Open the report in the browser.")
@json_option
def command(live: bool, out: Path | None, calls: int, show: bool, as_json: bool) -> int:
    """The whole chain on the demo study: import, profiles, twins, ratings, realism, report.

    The study is 12 conversations written by the authors of UserCal. Without --live the model's replies are recorded
    ones of the embedded model: no key, no network, under a minute.
    """
    began = time.monotonic()
    out = out or Path("usercal-demo-live" if live else "usercal-demo")
    if live and importlib.util.find_spec("xllamacpp") is None:
        raise MissingExtraError("local", "demo --live")
    say = _Sayer(as_json)
    say(_opening(live))
    with alone(out):
        return _demo(out, live, calls, show, say, began)


def _demo(out: Path, live: bool, calls: int, show: bool, say: _Sayer, began: float) -> int:
    study = make_study(out, live)
    facts: dict[str, Any] = {"live": live, "study": str(study.folder)}
    with say.timed("import") as note:
        note(import_demo(study))
    code, run_facts = _run(study, live, calls, say)
    facts["run"] = run_facts
    from apps.cli.report import write_report
    from calibrate.report.composing import headline
    from calibrate.report.published import published_line

    with say.timed("report") as note:
        published = published_fidelity()
        report, paths = write_report(study, study.folder, demo=True, title="UserCal demo", published=published)
        note("computed")
    lines = headline(report)
    for line in lines:
        say(row(f"  {line.label}", line.text))
    say(row("  fidelity", "UserProxyBench's published table, seven proxies, recomputed here:"))
    say(row("", published_line(published)))
    seconds = time.monotonic() - began
    say(row("  report", f"{shown_path(paths['html'])}    {seconds:.0f} s in all"))
    if show:
        click.launch(str(paths["html"]))
    following = [] if live else [(_live_command(), "the same with the embedded model here (about 8 min, 93 MB once)")]
    following += [
        (f"{_program()} init DIR", "your own study"),
        (f"{_program()} check", "which of your keys and servers work"),
    ]
    facts |= {
        "lines": {**{line.label: line.text for line in lines}, "fidelity": published_line(published)},
        "seconds": seconds,
        "report": {kind: str(path) for kind, path in paths.items()},
    }
    answer(say.quiet, facts, [], following)
    return code


def _program() -> str:
    """How the command is called from here: by its name, or by its place where it is not on the PATH."""
    return "usercal" if shutil.which("usercal") else shown_path(Path(sys.prefix) / "bin" / "usercal").removeprefix("./")


def _live_command() -> str:
    if importlib.util.find_spec("xllamacpp") is not None:
        return f"{_program()} demo --live"
    return "make demo LIVE=1" if Path("Makefile").is_file() and shutil.which("make") else "python demo.py --live"


def _opening(live: bool) -> str:
    replies = (
        "replies asked of local/smollm2 on this machine now"
        if live
        else "replies recorded from local/smollm2. No key, no network"
    )
    return f"Demo study: 12 conversations written by us (not human data), {replies}."


class _Sayer:
    """Prints a line a stage with its seconds; silent with --json."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet

    def __call__(self, line: str) -> None:
        if not self.quiet:
            click.echo(line)

    @contextmanager
    def timed(self, label: str) -> Iterator[Any]:
        """Print the label, what `note` was told, and how long it took."""
        began = time.monotonic()
        notes: list[str] = []
        yield notes.append
        self(row(f"  {label}", f"{notes[0] if notes else 'done':<70} {time.monotonic() - began:5.1f} s"))


def make_study(out: Path, live: bool, concurrency: int = 64) -> Study:
    """Make the demo's study folder, in place of an earlier demo's; a live one goes on where it was."""
    if out.exists() and not out.is_dir():
        raise StudyError(f"{out}: is a file; it was left as it is. Choose another place with --out.")
    if out.exists() and any(out.iterdir()):
        if not (out / MARK).is_file():
            raise StudyError(
                f"{out}: is not empty and no earlier demo; it was left as it is. Choose another with --out."
            )
        earlier = (out / MARK).read_text("utf-8")
        if earlier == "live" and not live:
            raise StudyError(f"{out}: holds a live demo; it was left as it is. Choose another folder with --out.")
        if live and earlier == "live":
            return Study.open(out)
        others = sorted(path.name for path in out.iterdir() if path.name not in MADE)
        if others:
            raise StudyError(
                f"{out}: holds what no demo made ({', '.join(others[:3])}); it was left as it is. "
                "Move that elsewhere, or choose another folder with --out."
            )
        for path in out.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    Study.create(out, "UserCal demo")
    (out / MARK).write_text("live" if live else "recorded", "utf-8")  # first, so that a demo cut short is known again
    more = ""
    if live:
        more = (
            f"per_task = {{ {', '.join(f'{k} = {v}' for k, v in LIVE_TASKS.items())} }}\n"
            f"scales = {json.dumps(LIVE_SCALES)}\ncalls = {LIVE_CALLS}\n"
        )
    text = CONFIG.format(
        name="demo-live" if live else "demo",
        more=more,
        concurrency=2 if live else concurrency,
        prompt=600 if live else 800,
        reply=100 if live else 160,
        strategies=json.dumps(LIVE_STRATEGIES if live else STRATEGIES),
    )
    (out / "study.toml").write_text(text, "utf-8")
    return Study.open(out)


def import_demo(study: Study) -> str:
    """Write the demo's conversations with their items into one file, and import it."""
    from annotate.bank import bank_items
    from annotate.imports import import_paths

    items = {item.key: item for task in LIVE_TASKS for item in bank_items(task)}
    path = study.folder / "conversations.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for text in (files("usercal_data") / "demo" / "conversations.jsonl").read_text("utf-8").splitlines():
            line = json.loads(text)
            item = items[line["item"]]
            line["item"] = item.model_dump(include={"key", "inputs", "private", "reference", "tags"})
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
    with study.open_store() as opened:
        import_paths(
            opened,
            [path],
            format="jsonl",
            pseudonym=study.pseudonym,
            default_scopes=study.config.study.scopes,
            scopes_basis=study.config.study.scopes_basis,
        )
        from annotate.schema import Conversation

        people = len(set(opened.column(Conversation, "participant", origin="human")))
        assistants = len(set(opened.column(Conversation, "assistant", origin="human")))
        return f"{opened.count(Conversation, origin='human')} conversations, {people} people, {assistants} assistants"


def published_fidelity() -> Published:
    """Recompute the fidelity of seven user proxies from the totals that UserProxyBench published."""
    from annotate.fidelity_tables import read_results
    from calibrate.fidelity.analysing import analyse
    from calibrate.fidelity.results import Question
    from calibrate.report.published import Published

    with as_file(files("usercal_data") / "userproxybench.csv") as table:
        frames = read_results(table)
    return Published(analyse(frames, Question(q=PUBLISHED_Q, resamples=PUBLISHED_RESAMPLES, seed=7)), PUBLISHED_SOURCE)


def _run(study: Study, live: bool, calls: int, say: _Sayer) -> tuple[int, dict[str, Any]]:
    from apps.cli import work
    from simulate.ledger import StoreLedger
    from simulate.llm import LayeredLedger, RecordedLedger
    from simulate.plan import Planner

    if live:
        from simulate import local

        with say.timed("model") as note:
            note(f"local/smollm2 is here ({local.pull('local/smollm2').stat().st_size / 1e6:.0f} MB)")
    run = study.config.run
    with study.open_store() as opened, as_file(files("usercal_data") / "demo" / RECORDING) as recording:
        planner = Planner(study.config, run, work.tasks_of(study, run, opened), opened)
        plan = planner.plan()
        ledger = StoreLedger(opened)
        with say.timed("twins") as note:
            summary, spending = work.execute(
                planner,
                plan,
                study,
                offline=not live,
                max_calls=calls if live else None,
                meter=work.Meter(quiet=say.quiet or not live, every=5.0),
                ledger=ledger if live else LayeredLedger(RecordedLedger(recording), ledger),
            )
            counts = {label: plan.count(kind)[0] for kind, label in work.KINDS}
            note(
                ", ".join(f"{n} {label}" for label, n in counts.items())
                + f" by {spending['paid_calls'] + spending['cached_calls']} calls"
            )
    lines, facts, code = work.outcome(summary, spending)
    for line in lines[1:]:
        say(f"  {line}")
    return (0 if live and code == 3 else code), facts
