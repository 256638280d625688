"""The command line: `usercal VERB` or `usercal NOUN VERB`; a verb's module is imported only when it is called."""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Sequence

import click

VERBS: dict[str, tuple[str, str]] = {
    "init": ("apps.cli.init", "Make a study folder."),
    "check": ("apps.cli.check", "Say what is wrong or missing: study, keys, servers, one model."),
    "status": ("apps.cli.status", "What the study holds, and what comes next."),
    "model": ("apps.cli.model", "The embedded model: pull, list."),
    "demo": ("apps.cli.demo", "The whole chain on the demo study: no key, no network."),
    "import": ("apps.cli.importing", "Read conversations and ratings into the study."),
    "export": ("apps.cli.exporting", "Write the study as JSONL, CSV or Parquet, within what people consented to."),
    "profiles": ("apps.cli.profiles", "Extract and show profiles."),
    "plan": ("apps.cli.plan", "What a run would do and cost; spends nothing."),
    "run": ("apps.cli.run", "Profiles, twins and ratings, as planned; resumes by the same command."),
    "judge": ("apps.cli.judge", "Ask models for ratings on any scale."),
    "rubrics": ("apps.cli.rubrics", "What a simulated user owes its contract, rule by rule."),
    "agreement": ("apps.cli.agreement", "Do raters agree: any scale, people and models, a study or a file."),
    "ufs": ("apps.cli.ufs", "Fidelity of user proxies: probes, score, frontier, and the cheapest that is enough."),
    "report": ("apps.cli.report", "Alignment, realism and outcome, with intervals."),
}


class Verbs(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order in which they are used."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one verb."""
        if cmd_name not in VERBS:
            return None
        command: click.Command = importlib.import_module(VERBS[cmd_name][0]).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Name the nearest verb where one is not known."""
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            from annotate.errors import nearest

            raise click.UsageError(
                f"there is no command {args[0]!r}{nearest(args[0], VERBS)} Commands: {', '.join(VERBS)}.", ctx
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in VERBS.items()])


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="usercal", prog_name="usercal")
def cli() -> None:
    """Can your simulated user stand in for a human one?

    A study is a folder. Begin with one of:

    \b
      usercal demo                       see the whole chain in a minute
      usercal init mystudy               make a study folder
      usercal import PATH                read conversations into the study here
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; a user's mistake is one sentence on stderr and exit code 2."""
    from annotate.errors import UserCalError

    words = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):  # a terminal that cannot show ρ shows ? instead of failing
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        try:
            code = cli.main(words, prog_name="usercal", standalone_mode=False)
        except SystemExit:  # click ends so where nobody reads on (usercal … | head), which is no failure of ours
            sys.exit(0)
        sys.exit(code if isinstance(code, int) else 0)
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.ClickException as error:
        _complain(error.format_message(), words)
        if isinstance(error, click.UsageError) and error.ctx is not None and "--json" not in words:
            click.echo(f"Help:  {error.ctx.command_path} --help", err=True)
        sys.exit(2)
    except UserCalError as error:
        _complain(str(error), words)
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("Stopped. What was finished is stored.", err=True)
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:  # a path that may not be looked at, a name that is too long, a full disk
        place = f"{error.filename}: " if error.filename else ""
        _complain(f"{place}{error.strerror or error}. Check the path, its permissions and the free space.", words)
        sys.exit(2)


def _complain(sentence: str, words: Sequence[str]) -> None:
    from apps.cli.options import printable

    if "--json" in words:
        try:
            click.echo(json.dumps({"error": sentence}, ensure_ascii=False))
            return
        except OSError:  # a full disk takes no answer either
            pass
    click.echo(printable(sentence), err=True)
