"""The command lines of a pilot: what differs between two proxies of a domain is the proxy alone."""

from __future__ import annotations

import shlex

import pytest

from annotate.errors import InputError
from annotate.tau_commands import Pilot, parse_names, pilot_commands, user_arguments

PILOT = Pilot(agent="openai/gpt-4.1", domains=("retail", "airline"), tasks=20, trials=2, user_args={"temperature": 1.0})


def option(line: str, name: str) -> str:
    words = shlex.split(line)
    return words[words.index(name) + 1]


def test_a_pilot_differs_by_the_proxy_alone() -> None:
    lines = pilot_commands(["gpt-4.1-mini", "hosted_vllm/Qwen/Qwen3-32B"], PILOT)
    assert len(lines) == 4
    for name in ("--agent-llm", "--num-trials", "--num-tasks", "--seed", "--user-llm-args"):
        assert len({option(line, name) for line in lines}) == 1, name
    assert len({option(line, "--save-to") for line in lines}) == 4
    assert [option(line, "--domain") for line in lines] == ["retail", "retail", "airline", "airline"]
    assert option(lines[1], "--save-to") == "retail_hosted_vllm-Qwen-Qwen3-32B"


def test_a_name_with_a_space_or_a_quote_stays_one_word() -> None:
    (line,) = pilot_commands(["it's; rm -rf x"], Pilot(agent="a b", domains=("retail",)))
    assert option(line, "--user-llm") == "it's; rm -rf x"
    assert option(line, "--agent-llm") == "a b"
    assert "--num-tasks" not in line


def test_arguments_of_a_proxy_are_those_it_was_measured_with() -> None:
    words = shlex.split(user_arguments("m", {"temperature": 0.5, "a": "ß"}))
    assert words == ["--user-llm", "m", "--user-llm-args", '{"a": "ß", "temperature": 0.5}']
    assert user_arguments("m", {}) == "--user-llm m"


@pytest.mark.parametrize(
    ("names", "pilot", "says"),
    [
        ([], PILOT, "no proxy"),
        (["a", "a"], PILOT, "named twice"),
        (["a/b", "a b"], PILOT, "one name"),
        (["a"], Pilot(agent="x", domains=()), "no domain"),
        (["a"], Pilot(agent="x", domains=("retail",), trials=0), "--trials: 0 is below 1"),
        (["a"], Pilot(agent="x", domains=("retail",), tasks=0), "--tasks-per-domain: 0"),
    ],
)
def test_a_pilot_that_cannot_be_run_is_refused(names: list[str], pilot: Pilot, says: str) -> None:
    with pytest.raises(InputError, match=says):
        pilot_commands(names, pilot)


def test_names_are_parted_by_commas() -> None:
    assert parse_names(" a, b ,,c") == ("a", "b", "c")
