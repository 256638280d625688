"""`usercal agreement`: from files of any form and from a study, what it says and how it refuses."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from annotate.schema import Annotation, Conversation, Item, Participant, Rater, Scale, Target, Turn
from annotate.study import Study

Call = Callable[..., Any]
WIDE = "post,ann,bo,cy,topic\n" + "".join(
    f"{i},{a},{b},{c},{t}\n"
    for i, (a, b, c, t) in enumerate(
        [
            ("spam", "spam", "spam", "x"),
            ("ham", "ham", "spam", "x"),
            ("ham", "ham", "ham", "x"),
            ("spam", "ham", "", "y"),
        ]
        * 6
    )
)


def wide(tmp_path: Path) -> Path:
    path = tmp_path / "labels.csv"
    path.write_text(WIDE, "utf-8")
    return path


def test_a_wide_table_gives_every_coefficient_of_its_level_with_interval_and_n(call: Call, tmp_path: Path) -> None:
    said = call("agreement", wide(tmp_path), "--level", "nominal", "--unit", "post", "--raters", "ann,bo,cy", "--json")
    assert said.code == 0, said.err
    (made,) = json.loads(said.out)["scales"]
    estimates = made["overall"]["estimates"]
    assert {"raw_agreement", "alpha_nominal", "gwet_ac1", "pabak"} <= set(estimates)
    for estimate in estimates.values():
        assert estimate["value"] is not None and estimate["low"] < estimate["value"] < estimate["high"]
        assert estimate["n"] > 0 and estimate["signature"]["version"]
    assert made["overall"]["missing"] == 6


def test_long_wide_and_parquet_say_the_same(call: Call, tmp_path: Path) -> None:
    table = pd.read_csv(wide(tmp_path))
    long = table.melt(id_vars=["post", "topic"], var_name="rater", value_name="value").dropna()
    shuffled = long.sample(frac=1.0, random_state=3)
    shuffled.to_csv(tmp_path / "long.csv", index=False)
    shuffled.to_parquet(tmp_path / "long.parquet")
    answers = []
    for path in (tmp_path / "labels.csv", tmp_path / "long.csv", tmp_path / "long.parquet"):
        raters = ("--raters", "ann,bo,cy") if path.stem == "labels" else ()
        said = call("agreement", path, "--level", "nominal", "--unit", "post", *raters, "--json")
        assert said.code == 0, said.err
        answers.append(json.loads(said.out)["scales"][0]["overall"]["estimates"])
    assert answers[0] == answers[1] == answers[2]


def test_groups_and_clusters(call: Call, tmp_path: Path) -> None:
    options = ("--level", "nominal", "--unit", "post", "--raters", "ann,bo,cy", "--by", "topic", "--cluster", "topic")
    said = call("agreement", wide(tmp_path), *options, "--json")
    assert said.code == 0, said.err
    (made,) = json.loads(said.out)["scales"]
    assert [group["name"] for group in made["groups"]] == ["x", "y"]
    alpha = made["overall"]["estimates"]["alpha_nominal"]
    assert alpha["low"] is None and "2" in alpha["interval_reason"]  # two clusters are no basis for an interval


def test_one_screen_says_the_answer_first_and_the_next_command_last(call: Call, tmp_path: Path) -> None:
    said = call("agreement", wide(tmp_path), "--level", "nominal", "--unit", "post", "--raters", "ann,bo,cy")
    lines = said.out.splitlines()
    assert said.code == 0 and len(lines) <= 60
    assert "agree on" in lines[0]
    assert any("ann" in line and "cy" in line and "spam" in line for line in lines)
    assert lines[-1].startswith("Next:") and "--out" in lines[-1]


def test_files_are_written_and_the_csv_holds_every_number(call: Call, tmp_path: Path) -> None:
    options = ("--level", "nominal", "--unit", "post", "--raters", "ann,bo,cy")
    said = call("agreement", wide(tmp_path), *options, "--out", "made", "--json")
    answer = json.loads(said.out)
    for kind in ("html", "md", "csv", "tex", "json"):
        assert Path(answer["paths"][kind]).stat().st_size > 100
    with open(answer["paths"]["csv"], encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    alpha = next(row for row in rows if row["coefficient"] == "alpha_nominal")
    assert float(alpha["value"]) == answer["scales"][0]["overall"]["estimates"]["alpha_nominal"]["value"]


def test_raters_who_say_the_same_everywhere_are_undefined_with_raw_agreement_beside(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "same.csv"
    path.write_text("item,a,b\n" + "".join(f"{i},yes,yes\n" for i in range(9)), "utf-8")
    said = call("agreement", path, "--level", "nominal", "--categories", "yes,no", "--json")
    estimates = json.loads(said.out)["scales"][0]["overall"]["estimates"]
    assert estimates["alpha_nominal"]["value"] is None and "all" in estimates["alpha_nominal"]["reason"]
    assert estimates["raw_agreement"]["value"] == 1.0 and estimates["raw_agreement"]["low"] < 1.0
    assert estimates["gwet_ac1"]["value"] == 1.0
    assert "nan" not in said.out.lower().replace("nominal", "")


def test_not_applicable_is_a_rate_of_its_own(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "na.csv"
    rows = ["item,a,b"] + [
        f"{i},{x},{y}" for i, (x, y) in enumerate([("p", "p"), ("f", "p"), ("na", "na"), ("f", "f")] * 5)
    ]
    path.write_text("\n".join(rows), "utf-8")
    said = call("agreement", path, "--level", "nominal", "--na", "na", "--json")
    (made,) = json.loads(said.out)["scales"]
    assert made["overall"]["not_applicable"] == 10
    assert made["categories"] == ["f", "p"]
    assert made["overall"]["estimates"]["raw_agreement"]["value"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "--level"),
        (("--level", "interval", "--unit", "post", "--raters", "ann,bo"), "needs numbers"),
        (("--level", "nominal", "--unit", "pots"), "did you mean 'post'"),
        (("--level", "nominal", "--raters", "ann,zoe"), "'zoe'"),
        (("--level", "ordinal", "--unit", "post", "--raters", "ann,bo"), "declare the categories"),
        (
            ("--level", "nominal", "--unit", "post", "--raters", "ann,bo", "--categories", "spam"),
            "not among the declared",
        ),
        (("--level", "nominal", "--unit", "topic", "--raters", "ann,bo"), "more than one row"),
        (("--level", "nominal", "--scale", "x"), "--scale"),
        (("--level", "nominal", "--only", "topic=z"), "leaves no row"),
        (("--level", "nominal", "--only", "topic"), "COLUMN=VALUE"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(
    call: Call, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    answer = call("agreement", wide(tmp_path), *options)
    assert answer.code == 2 and said in answer.err, answer.err
    assert answer.err.count("\n") == 1 and "Traceback" not in answer.err


def test_no_file_and_no_study(call: Call) -> None:
    answer = call("agreement", "--level", "nominal")
    assert answer.code == 2 and "no FILE and no study" in answer.err


def test_out_is_a_folder(call: Call, tmp_path: Path) -> None:
    answer = call("agreement", wide(tmp_path), "--level", "nominal", "--raters", "ann,bo", "--out", "labels.csv")
    assert answer.code == 2 and "is a file" in answer.err


def test_a_column_that_is_no_raters_is_refused(call: Call, tmp_path: Path) -> None:
    answer = call("agreement", wide(tmp_path), "--level", "nominal")
    assert answer.code == 2 and "'topic' holds other values" in answer.err and "--raters" in answer.err


def test_models_of_a_file_are_named(call: Call, tmp_path: Path) -> None:
    options = ("--level", "nominal", "--raters", "ann,bo,cy", "--models", "cy", "--json")
    (made,) = json.loads(call("agreement", wide(tmp_path), *options).out)["scales"]
    assert [kind["name"] for kind in made["kinds"]] == ["people", "people and models"]


def test_a_missing_file(call: Call) -> None:
    answer = call("agreement", "nothing.csv", "--level", "nominal")
    assert answer.code == 2 and "no such file" in answer.err


# ------------------------------------------------------------------------------------------------------------ study


@pytest.fixture
def study(call: Call, tmp_path: Path) -> Path:
    """People and a model rate the same twenty conversations; a second scale has one rater a conversation."""
    assert call("init", tmp_path / "s").code == 0
    folder = tmp_path / "s"
    rng = np.random.default_rng(5)
    scale = Scale(name="helpful", level="ordinal", minimum=1, maximum=5)
    alone = Scale(name="alone", level="ordinal", minimum=1, maximum=5)
    raters = [Rater(id=f"h_{n}", kind="human", name=n) for n in ("ann", "bo")]
    raters.append(Rater(id="m", kind="model", name="judge", model="openai/m", prompt_hash="x"))
    nouns: list[Any] = [scale, alone, *raters, *(Participant(id=f"p{n}", kind="human") for n in range(6))]
    for n in range(20):
        nouns.append(Item(id=f"i{n}", key=f"i{n}", task="math", inputs={}, tags={"level": "easy" if n % 2 else "hard"}))
        turn = Turn(position=0, role="user", text="hello")
        nouns.append(
            Conversation(
                id=f"c{n}",
                task="math",
                item=f"i{n}",
                participant=f"p{n % 6}",
                assistant="a",
                origin="human",
                turns=(turn,),
            )
        )
        true = int(rng.integers(1, 6))
        for rater in raters:
            value = int(np.clip(true + rng.integers(-1, 2), 1, 5))
            nouns.append(
                Annotation(
                    id=f"{rater.id}{n}",
                    rater=rater.id,
                    scale="helpful",
                    target=Target(conversation=f"c{n}"),
                    value=value,
                )
            )
        nouns.append(
            Annotation(id=f"x{n}", rater="h_ann", scale="alone", target=Target(conversation=f"c{n}"), value=true)
        )
    with Study.open(folder).open_store() as store, store.begin() as transaction:
        transaction.add(nouns)
    return folder


def test_a_study_knows_levels_kinds_groups_and_clusters(call: Call, study: Path) -> None:
    said = call("agreement", "--study", study, "--by", "level", "--json")
    assert said.code == 0, said.err
    answer = json.loads(said.out)
    (made,) = answer["scales"]
    assert made["level"] == "ordinal" and made["categories"] == [1, 2, 3, 4, 5] and made["declared"]
    assert [group["name"] for group in made["groups"]] == ["easy", "hard"]
    assert {kind["name"] for kind in made["kinds"]} == {"people", "people and models"}
    assert made["cluster"] == "participant" and made["overall"]["estimates"]["alpha_ordinal"]["clusters"] == 6
    assert answer["left_out"] == ["alone: no unit has two ratings"]


def test_only_people(call: Call, study: Path) -> None:
    said = call("agreement", "--study", study, "--kind", "people", "--json")
    (made,) = json.loads(said.out)["scales"]
    assert {rater["rater"] for rater in made["raters"]} == {"ann", "bo"}
    assert "cohen_kappa_quadratic" in made["overall"]["estimates"]


def test_a_scale_with_one_rater_is_refused_by_name(call: Call, study: Path) -> None:
    said = call("agreement", "--study", study, "--scale", "alone")
    assert said.code == 2 and "two raters" in said.err


def test_an_empty_study_says_what_comes_first(call: Call, tmp_path: Path) -> None:
    assert call("init", tmp_path / "empty").code == 0
    assert call("import", "--study", tmp_path / "empty", "--help").code == 0
    with Study.open(tmp_path / "empty").open_store():
        pass
    said = call("agreement", "--study", tmp_path / "empty")
    assert said.code == 0 and "nothing to agree on" in said.out


def test_the_report_has_a_section_on_agreement(call: Call, study: Path) -> None:
    said = call("report", "--study", study, "--out", study / "r", "--resamples", "200")
    assert said.code == 0, said.err
    html = (study / "r" / "report.html").read_text("utf-8")
    assert "Do raters agree" in html and "alpha_ordinal" not in html
