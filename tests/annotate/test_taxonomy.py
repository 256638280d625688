"""The taxonomy: four families and nineteen modes, a study's own beside them, and every way to write them wrong."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest

from annotate.config import PriceConfig, StudyConfig, age_days, check
from annotate.errors import ConfigError, InputError
from annotate.taxonomy import load_taxonomy

MODES = {
    "premature_disclosure": ("volunteers_unasked_info", "preempts_diagnosis", "dumps_blueprint"),
    "groundedness": (
        "unsupported_personal_fact", "unsupported_device_state", "misreports_tool_result", "unexecuted_action_claim",
        "self_contradiction", "contradicts_blueprint", "invents_unknown_info",
    ),
    "goal_deviation": (
        "stops_prematurely", "accepts_forbidden_outcome", "accepts_insufficient_outcome", "abandons_goal",
        "adds_unstated_goal",
    ),
    "missed_information": (
        "withholds_requested_info", "skips_requested_action", "performs_wrong_action", "leaves_question_unanswered",
    ),
}  # fmt: skip


def mode(name: str = "rambles", family: str = "manner", **fields: str) -> str:
    texts = {"definition": "d", "passes": "p", "fails": "f", "evidence": "e", **fields}
    lines = [f"name = {name!r}", f"family = {family!r}", *(f"{key} = {text!r}" for key, text in texts.items())]
    return "\n".join(["[[mode]]", *lines, ""])


FAMILY = "[[family]]\nname = 'manner'\ndefinition = 'How it speaks.'\n"


def extra(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "own.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_shipped_taxonomy_has_the_families_and_modes_of_the_benchmark() -> None:
    shipped = load_taxonomy()
    assert {family: tuple(m.name for m in shipped.modes(family)) for family in shipped.families} == MODES
    assert len(shipped.modes()) == 19
    texts = [text for m in shipped.modes() for text in (m.definition, m.passes, m.fails, m.evidence)]
    assert len(set(texts)) == len(texts) and min(map(len, texts)) > 30


def test_a_study_adds_to_it_and_the_hash_tells_them_apart(tmp_path: Path) -> None:
    shipped = load_taxonomy()
    own = load_taxonomy(extra(tmp_path, FAMILY + mode() + mode("hints", "premature_disclosure")))
    assert own.families == (*MODES, "manner") and len(own.modes()) == 21
    own.check("manner", "rambles")
    own.check("premature_disclosure", "hints")
    assert own.hash != shipped.hash == load_taxonomy().hash


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (mode("dumps_blueprint", "groundedness"), "mode 'dumps_blueprint' stands twice"),
        (FAMILY + mode() + mode(family="groundedness"), "mode 'rambles' stands twice"),
        (FAMILY * 2, "family 'manner' stands twice"),
        (FAMILY.replace("manner", "groundedness"), "family 'groundedness' stands twice"),
        (mode(family="goal_deviaton"), "did you mean 'goal_deviation'"),
        (FAMILY + mode(definition=" "), "'mode.0.definition': is empty"),
        (mode(family="groundedness", example="x"), "unknown key 'mode.0.example'"),
        ("[[modes]]\n", "unknown key 'modes'; did you mean 'mode'"),
        ("[[mode]]\nname = 'x'\n", "is required and missing"),
        ("", "neither a [[family]] nor a [[mode]]"),
        ("[[mode]\n", "not valid TOML"),
    ],
)
def test_a_file_of_ones_own_is_refused_with_one_sentence(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_taxonomy(extra(tmp_path, text))
    said = str(caught.value)
    assert says in said and "own.toml" in said and "\n" not in said, said


@pytest.mark.parametrize(
    ("family", "name", "says"),
    [
        ("groundednes", None, "did you mean 'groundedness'"),
        ("groundedness", "self_contradicton", "did you mean 'self_contradiction'"),
        ("groundedness", "dumps_blueprint", "belongs to the family 'premature_disclosure'"),
        ("groundedness", "", "is not in the taxonomy"),
    ],
)
def test_a_name_that_is_not_in_it_is_refused(family: str, name: str | None, says: str) -> None:
    with pytest.raises(InputError, match=re.escape(says)):
        load_taxonomy().check(family, name)


def study(**sections: object) -> StudyConfig:
    return check(StudyConfig, {"study": {"name": "s"}, **sections}, Path("study.toml"))


def test_the_study_names_its_own_file() -> None:
    assert study(taxonomy={"path": "own.toml"}).taxonomy.path == "own.toml"
    assert study().taxonomy.path is None
    with pytest.raises(ConfigError, match=r"unknown key 'taxonomy\.file'"):
        study(taxonomy={"file": "own.toml"})


GPU = {"gpu_hour_usd": 2.10, "gpus": 2, "conversations_per_hour": 5400, "as_of": "2026-11-01"}
TOKENS = {"input_usd_per_million": 1.0, "output_usd_per_million": 2.0, "as_of": date(2026, 11, 1)}


def test_ones_own_gpus_have_a_price_per_conversation() -> None:
    prices = study(prices={"hosted_vllm/m": GPU, "openai/m": TOKENS}).prices
    assert prices["hosted_vllm/m"].usd_per_conversation == pytest.approx(0.00078, abs=5e-6)
    assert prices["openai/m"].usd_per_conversation is None and prices["openai/m"].as_of == "2026-11-01"


@pytest.mark.parametrize(
    ("price", "says"),
    [
        ({**GPU, "gpus": None}, "'gpus' is missing"),
        ({k: v for k, v in GPU.items() if k != "conversations_per_hour"}, "'conversations_per_hour' is missing"),
        ({**GPU, "output_usd_per_million": 1.0}, "leave out one kind"),
        ({**GPU, **TOKENS}, "leave out one kind"),
        ({"input_usd_per_million": 1.0, "as_of": "2026-11-01"}, "'output_usd_per_million' is missing"),
        ({"cached_input_usd_per_million": 1.0, "as_of": "2026-11-01"}, "'input_usd_per_million' is missing"),
        ({"as_of": "2026-11-01"}, "here is neither"),
        ({k: v for k, v in GPU.items() if k != "as_of"}, "as_of' is required"),
        ({**TOKENS, "as_of": "2026-02-30"}, "a day of the calendar"),
        ({**TOKENS, "as_of": "soon"}, "a day of the calendar"),
        ({**GPU, "conversations_per_hour": 0}, "greater than 0"),
    ],
)
def test_a_price_is_complete_in_one_form_and_dated(price: dict[str, object], says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        study(prices={"m": {name: value for name, value in price.items() if value is not None}})
    assert says in str(caught.value) and "\n" not in str(caught.value), caught.value


def test_the_age_of_a_price() -> None:
    price = PriceConfig.model_validate(TOKENS)
    assert age_days(price, date(2027, 5, 1)) == 181
    assert age_days(price, date(2026, 10, 31)) == -1
