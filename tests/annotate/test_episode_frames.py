"""Stored episodes as frames: what is counted, which verdicts stand, which episodes repeat another."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from annotate.episode_frames import read_episodes
from annotate.episodes import EPISODE_COLUMNS, VERDICT_COLUMNS, EpisodeFrames
from annotate.errors import InputError
from annotate.schema import (
    Annotation,
    Conversation,
    Criterion,
    Evidence,
    Item,
    Noun,
    Rater,
    Run,
    Target,
    ToolCall,
    Turn,
    Usage,
)
from annotate.store import Store

SHARED = Path(os.environ.get("USERCAL_SHARED") or Path(__file__).resolve().parents[2].parent / "shared")
JUDGE = Rater(id="m_judge", kind="model", name="judge", model="openai/m", prompt_hash="h")
PERSON = Rater(id="r_ann", kind="human", name="p_ann")
RULES = [
    Criterion(id="k1", family="groundedness", mode="self_contradiction", text="t", source="blueprint", span="s"),
    Criterion(id="k2", family="goal_deviation", mode="abandons_goal", text="t", source="guidelines", span="s"),
]
ITEM = Item(id="i", task="tau_retail", key="1@none", private={"blueprint": {"text": "wants a refund"}})
RUN = Run(id="run", name="a.json", config={"user": {"model": "m"}})
TALK = (
    Turn(position=0, role="system", text="Policy? Which?", seen_by="assistant"),
    Turn(position=1, role="assistant", text="Hi! How can I help? Anything?"),
    Turn(position=2, role="user", text="No data.", usage=Usage(prompt_tokens=100, completion_tokens=10)),
    Turn(position=3, role="assistant", text="", tool_calls=(ToolCall(name="a"), ToolCall(name="b")),
         seen_by="assistant"),
    Turn(position=4, role="tool", text="done?", seen_by="assistant"),
    Turn(position=5, role="assistant", text="Is it on?"),
    Turn(position=6, role="user", text="", private="let me see?", tool_calls=(ToolCall(name="c"),), seen_by="user",
         usage=Usage(prompt_tokens=200, completion_tokens=20)),
    Turn(position=7, role="tool", text="on", seen_by="user"),
    Turn(position=8, role="user", text="It is.", usage=Usage(prompt_tokens=300, completion_tokens=30)),
)  # fmt: skip


def episode(name: str, *, tags: Mapping[str, str] | None = None, **fields: Any) -> Conversation:
    told = {"proxy": "p", "agent": "gpt", "domain": "retail", "task_id": "1", "trial": "0", "file": "a.json",
            "simulation": f"sim {name}", **(tags or {})}  # fmt: skip
    given: dict[str, Any] = {
        "task": "tau_retail", "item": "i", "participant": "s", "assistant": "gpt", "origin": "simulated",
        "turns": TALK, "ended": "user_stop", "run": "run", "content_hash": f"hash {name}",
        "outcome": {"reward": 1.0, "status": "ok", "status_reason": None, "seconds": 12.5}, **fields,
    }  # fmt: skip
    return Conversation(id=name, tags=told, **given)


ids = itertools.count()


def verdict(conversation: str, criterion: str, value: str | bool | None, **fields: Any) -> Annotation:
    given: dict[str, Any] = {"rater": JUDGE.id, "scale": "rubric", "id": f"a{next(ids)}", **fields}
    if value is None:
        given.setdefault("missing", "not_applicable")
    target = Target(kind="verdict", conversation=conversation, criterion=criterion)
    return Annotation(target=target, value=value, **given)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path / 'store.db'}") as opened:
        yield opened


def fill(store: Store, *nouns: Noun) -> Store:
    with store.begin() as transaction:
        transaction.add([*RULES, JUDGE, PERSON, ITEM, RUN, *nouns])
    return store


def frames(found: EpisodeFrames) -> tuple[pd.DataFrame, pd.DataFrame]:
    assert found.episodes is not None and found.verdicts is not None
    assert list(found.episodes) == EPISODE_COLUMNS and list(found.verdicts) == VERDICT_COLUMNS
    return found.episodes, found.verdicts


def test_what_is_counted_of_an_episode(store: Store) -> None:
    fill(store, episode("c1", cost_usd=0.02), episode("human", origin="human"), episode("own", tags={}))
    with store.begin() as transaction:
        transaction.add(
            [Conversation(id="twin", task="t", item="i", participant="s", assistant="a", origin="simulated")]
        )
    episodes, verdicts = frames(read_episodes(store))
    assert list(episodes["episode"]) == ["c1", "own"] and verdicts.empty
    row = episodes.iloc[0]
    assert (row["user_turns"], row["agent_turns"], row["agent_tool_calls"], row["agent_questions"]) == (2, 2, 2, 3)
    assert (row["prompt_tokens"], row["completion_tokens"], row["tokens_estimated"]) == (600, 60, False)
    assert (row["reward"], row["seconds"], row["ended"], row["status"]) == (1.0, 12.5, "user_stop", "ok")
    assert (row["cost_usd"], row["cost_basis"]) == (0.02, "billed")
    assert episodes["cost_basis"][1] == "unknown" and pd.isna(episodes["cost_usd"][1])


def test_tokens_are_unknown_if_one_call_has_none_and_then_estimated(store: Store) -> None:
    bare = tuple(t.model_copy(update={"usage": None}) if t.position == 6 else t for t in TALK)
    silent = tuple(t for t in TALK if t.role != "user")
    fill(store, episode("c1"), episode("c2", turns=bare), episode("c3", turns=silent))
    episodes, _ = frames(read_episodes(store))
    assert list(episodes["prompt_tokens"].fillna(-1)) == [600, -1, -1]
    asked: list[tuple[str, str | None, Mapping[str, Any]]] = []

    def estimate(conversation: Conversation, item: Item | None, config: Mapping[str, Any]) -> tuple[int, int]:
        asked.append((conversation.id, item.id if item else None, config))
        return 7, 3

    episodes, _ = frames(read_episodes(store, estimate=estimate))
    assert list(episodes["prompt_tokens"].fillna(-1)) == [600, 7, -1]
    assert list(episodes["tokens_estimated"]) == [False, True, False]
    assert asked == [("c2", "i", {"user": {"model": "m"}})]


def test_verdicts_that_stand(store: Store) -> None:
    old = verdict("c1", "k1", "pass", id="old", evidence=Evidence(turn=2, quote="No data.\ud800", found=True))
    fill(
        store, episode("c1"), old, verdict("c1", "k1", "fail", supersedes="old", evidence=Evidence(turn=8, quote="It")),
        verdict("c1", "k2", None), verdict("c2", "k1", None, missing="unparsable"),
        verdict("c2", "k2", None, missing="skipped"),
        verdict("c1", "k1", "fail", scale="audit"), verdict("absent", "k1", "fail"), episode("c2"),
        Annotation(id="whole", rater=JUDGE.id, scale="rubric", target=Target(conversation="c1"), value=3),
    )  # fmt: skip
    _, verdicts = frames(read_episodes(store))
    told = verdicts[["episode", "criterion", "family", "mode", "value", "rater", "rater_kind"]].astype(str)
    assert [tuple(row) for row in told.itertuples(index=False)] == [
        ("c1", "k1", "groundedness", "self_contradiction", "fail", "m_judge", "model"),
        ("c1", "k2", "goal_deviation", "abandons_goal", "na", "m_judge", "model"),
        ("c2", "k1", "groundedness", "self_contradiction", "missing", "m_judge", "model"),
        ("c2", "k2", "goal_deviation", "abandons_goal", "missing", "m_judge", "model"),
    ]
    assert (verdicts["turn"][0], verdicts["quote"][0]) == (8, "It") and pd.isna(verdicts["quote"][1])


def test_a_value_that_is_no_verdict_and_a_criterion_that_is_not_there(store: Store) -> None:
    fill(store, episode("c1"), verdict("c1", "k1", "perhaps", id="odd"))
    with pytest.raises(InputError, match="annotation odd: 'perhaps' is no verdict"):
        read_episodes(store)
    with store.begin() as transaction:
        transaction.add([verdict("c1", "k9", "pass", scale="second")])
    with pytest.raises(InputError, match="criterion 'k9', which is not in the store"):
        read_episodes(store, scale="second")


def test_whose_verdicts_count(store: Store) -> None:
    fill(store, episode("c1"), verdict("c1", "k1", "pass"), verdict("c1", "k1", "fail", rater=PERSON.id))
    found = read_episodes(store)
    assert list(frames(found)[1]["value"]) == ["pass"] and any("verdicts of people" in note for note in found.notes)
    assert list(frames(read_episodes(store, rater="p_ann"))[1]["value"]) == ["fail"]
    with pytest.raises(InputError, match="no verdict is by the rater 'jugde'"):
        read_episodes(store, rater="jugde")


A, B = {"file": "a.json"}, {"file": "b.json"}
NO_TASK = {"task_id": "unknown"}
SAME: list[tuple[str, list[Conversation], dict[str, str]]] = [
    ("a task id is missing", [episode("x", run="b", content_hash="h", tags={**B, **NO_TASK, "simulation": "0"}),
                              episode("y", content_hash="h")], {"x": "y"}),
    ("the same simulation", [episode("x", content_hash="h", tags={"trial": "1", "simulation": "s"}, cost_usd=1.0),
                             episode("y", content_hash="h", tags={"simulation": "s"})], {"y": "x"}),
    ("the same task and trial", [episode("x", run="b", content_hash="h", tags={**B, "simulation": "2"}),
                                 episode("y", content_hash="h", tags={"simulation": "1"})], {"x": "y"}),
    ("two trials may be equal", [episode("x", content_hash="h"),
                                 episode("y", content_hash="h", tags={"trial": "1"})], {}),
    ("two proxies may say the same", [episode("x", content_hash="h", tags={"proxy": "q"}),
                                      episode("y", run="b", content_hash="h", tags=B)], {}),
    ("another content", [episode("x"), episode("y", run="b", tags=B)], {}),
    ("two copies of two equal trials", [
        episode("u", run="b", content_hash="h", tags={**B, **NO_TASK}),
        episode("v", run="b", content_hash="h", tags={**B, **NO_TASK}),
        episode("x", content_hash="h"), episode("y", content_hash="h", tags={"trial": "1"})], {"u": "x", "v": "x"}),
]  # fmt: skip


@pytest.mark.parametrize(("why", "given", "repeats"), SAME, ids=[case[0] for case in SAME])
def test_repeats_do_not_depend_on_the_order(
    tmp_path: Path, why: str, given: list[Conversation], repeats: dict[str, str]
) -> None:
    for number, order in enumerate(itertools.permutations(given)):
        with Store.open(f"sqlite:///{tmp_path / f'{number}.db'}") as store:
            episodes, _ = frames(read_episodes(fill(store, *order)))
        named = episodes.dropna(subset=["duplicate_of"])
        assert dict(zip(named["episode"], named["duplicate_of"], strict=True)) == repeats, (why, order)


def test_episodes_of_several_runs_are_not_taken_for_one(store: Store) -> None:
    fill(
        store, episode("x"), episode("y", run="b", tags=B), episode("z", run="b", tags={**B, "trial": "1"}),
        episode("u", tags=NO_TASK), episode("v", tags=NO_TASK),
    )  # fmt: skip
    found = read_episodes(store)
    episodes, _ = frames(found)
    key = episodes[["proxy", "domain", "task", "trial"]]
    assert not key.duplicated().any()
    trials = dict(zip(episodes["episode"], episodes["trial"], strict=True))
    assert (trials["x"], trials["y"], trials["z"]) == ("0 a.json", "0 b.json", "1")
    assert episodes.set_index("episode")["task"]["u"] != episodes.set_index("episode")["task"]["v"]
    assert len(found.notes) == 2


def test_the_public_runs_give_every_episode_once(tmp_path: Path) -> None:
    files = sorted((SHARED / "data" / "tau").glob("*.json"))
    if not files:
        pytest.skip("the shared runs are not here")
    from annotate.imports import import_paths

    runs = [path for path in files if path.name != "telecom_user_tools.json"]
    read = []
    for number, order in enumerate((runs, runs[::-1])):
        with Store.open(f"sqlite:///{tmp_path / f'{number}.db'}") as store:
            import_paths(store, order, pseudonym=lambda name: f"p_{name}")
            read.append(frames(read_episodes(store))[0])
    for episodes in read:
        counted = episodes[episodes["duplicate_of"].isna()]
        assert (len(episodes), len(counted)) == (425, 375)
        assert not counted[["proxy", "domain", "task", "trial"]].duplicated().any()
        assert not counted["task"].str.startswith("unknown").any(), "the copy that knows its task counts"
        assert episodes["status"].value_counts().to_dict() == {"ok": 405, "not_scorable": 20}
    key = ["proxy", "domain", "task", "trial"]
    facts = [
        e[e["duplicate_of"].isna()].sort_values(key)[[*key, "reward", "prompt_tokens", "agent_turns"]] for e in read
    ]
    pd.testing.assert_frame_equal(facts[0].reset_index(drop=True), facts[1].reset_index(drop=True))
