"""`usercal ufs --commands`: the tau2 lines of a fair pilot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from annotate.errors import InputError
from apps.cli.options import answer

if TYPE_CHECKING:
    from annotate.study import Study
    from apps.cli.ufs import Asked


def print_pilot(asked: Asked, study: Study | None, as_json: bool) -> int:
    """Print one `tau2 run` line a proxy and domain; they can be pasted into a shell as they are."""
    import shlex

    from annotate.tau_commands import TAU_DOMAINS, Pilot, check_names, parse_names, pilot_commands

    proxies = parse_names(asked.commands or "")
    check_names(proxies)
    agent = asked.agent or _one_agent(study)
    pilot = Pilot(agent=agent, domains=asked.domains or TAU_DOMAINS, tasks=asked.tasks_per_domain, trials=asked.trials)
    lines = pilot_commands(proxies, pilot)
    tasks = "all tasks" if pilot.tasks is None else f"the first {pilot.tasks} tasks"
    trials = "1 trial" if pilot.trials == 1 else f"{pilot.trials} trials"
    domains = ", ".join(map(shlex.quote, pilot.domains))
    about = f"# {len(proxies)} proxies, {tasks} of {domains}, {trials} each, one agent: {shlex.quote(agent)}"
    following = [("usercal import data/simulations/", "when they are done, where tau2 saves them")]
    answer(as_json, {"commands": lines}, [about, *lines], following)
    return 0


def _one_agent(study: Study | None) -> str:
    """Return the agent of the runs in the study, where there is one and no other."""
    agents: set[str] = set()
    if study is not None:
        from annotate.schema import Conversation

        with study.open_store(create=False) as store:
            agents = {str(name) for name in store.column(Conversation, "assistant", origin="simulated")} - {"unknown"}
    if len(agents) != 1:
        why = "there is no study with runs here" if not agents else f"the runs have {len(agents)} agents"
        raise InputError(f"a fair pilot has one agent, and {why}. Name it: --agent MODEL")
    return agents.pop()
