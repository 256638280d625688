"""The traps of the SimulatorArena release, each on a small made-up file; and the public subset where it is."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from annotate.describe import human_pairs, human_reference, length_range
from annotate.errors import InputError, UnknownFormatError
from annotate.importers import Batch, Options, detect
from annotate.importers.simulatorarena.records import normalise_latex
from annotate.schema import Annotation, Conversation

SHARED = Path(os.environ.get("USERCAL_SHARED") or Path(__file__).resolve().parents[2].parent / "shared")
MIT = "The MIT License\n\nPermission is hereby granted, free of charge, to any person\nobtaining a copy"
KNOWLEDGE = "user_simulator_profiles/math_tutoring/knowledge_state.json"
PREFERENCES = "user_simulator_profiles/document_creation/preferences.json"
CONCEPTS = "math_tutoring_problems_extracted_concepts.json"
BACKGROUND = "document_creation_user_simulator_background.json"


def pseudonym(person: str) -> str:
    return "p_" + hashlib.sha256(person.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def math(**more: Any) -> dict[str, Any]:
    record = {
        "user_id": "login-7",
        "workerId": "worker-1",
        "math_expertise": "grad",
        "dataset": "math",
        "user_queries": ["how?", "like this?", "and this one?"],
        "ai_responses": ["Try.", "Yes.", "Go on."],
        "turk_solution": "I added both sides.",
        "turk_final_answer": "7",
        "turk_problem_2_solution": "",
        "turk_problem_2_final_answer": "",
        "strength_weakness": "patient",
        "why_stop": "I felt confident.",
        "overall_rating": 8,
        "moved_to_problem_2": False,
        "problem_1_turns": -1,
        "why_ask_tutor": "no idea",
        "turk_initial_solution": "",
        "problem_id": 12,
        "level": "Level 3",
        "type": "Algebra",
        "model": "gpt-4o",
        "solve_or_not": "yes",
        "problem_1_correctness": "correct",
        "question_location": "test/a/1.json",
        "similar_question_location": "train/a/2.json",
    }
    return {**record, **more}


def document(**more: Any) -> dict[str, Any]:
    record = {
        "workerId": "worker-2",
        "user_queries": ["write it", "shorter", "thanks"],
        "ai_responses": ["Dear…", "Hi", "Bye"],
        "model": "gpt-4o",
        "document_type": "email",
        "intent": "Thank a colleague",
        "document_history": ["", "Hi", "Hi"],
        "bullet_points": ["Who?", "When?"],
        "bullet_points_responses": ["Ada", ""],
        "strength": "fast",
        "weakness": "none",
        "why_stop": "done",
        "overall_interaction_rating": 9,
        "overall_document_rating": 6,
        "selected_intent_index": "0",
    }
    return {**record, **more}


def release(
    folder: Path,
    math_records: list[Any] | None = None,
    documents: list[Any] | None = None,
    licence: str | None = MIT,
    **beside: Any,
) -> Path:
    folder.mkdir(exist_ok=True)
    if math_records is not None:
        (folder / "math_tutoring_annotations_redacted_for_benchmarking.json").write_text(json.dumps(math_records))
    if documents is not None:
        (folder / "document_creation_annotations_for_benchmarking.json").write_text(json.dumps(documents))
    if licence is not None:
        (folder / "LICENSE").write_text(licence)
    for name, value in beside.items():
        path = folder / {
            "knowledge": KNOWLEDGE,
            "preferences": PREFERENCES,
            "concepts": CONCEPTS,
            "background": BACKGROUND,
        }.get(name, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value))
    return folder


def read(path: Path, **options: Any) -> Batch:
    importer = detect(path)
    assert importer.name == "simulatorarena"
    return importer.read([path], pseudonym, Options(**options))


def said(batch: Batch, scale: str) -> list[Annotation]:
    return [annotation for annotation in batch.annotations if annotation.scale == scale]


def noted(batch: Batch, kind: str, words: str) -> int:
    return sum(count for (k, text), count in batch.notes.items() if k == kind and words in text)


def only(batch: Batch) -> Conversation:
    assert len(batch.conversations) == 1
    return batch.conversations[0]


# --- who it is -------------------------------------------------------------------------------------------------------


def test_the_person_is_the_worker_never_the_login(tmp_path: Path) -> None:
    path = release(
        tmp_path / "data",
        [math()],
        [document(workerId="worker-1")],
        knowledge={
            str((12, "worker-1", "gpt-4o")): {"concepts": [{"Concept Name": "Sums", "Status": "Knows well"}]},
            str((12, "login-7", "gpt-4o")): {"concepts": []},
        },
    )
    batch = read(path)
    assert [c.participant for c in batch.conversations] == [pseudonym("worker-1")] * 2
    assert len(batch.participants) == len(batch.raters) == 1
    assert batch.facts["profiles math_tutoring"] == "1 of 1"
    assert [k.concept for k in batch.profiles[0].knowledge or ()] == ["Sums"]
    assert "worker-1" not in repr(batch) and "login-7" not in repr(batch)
    assert noted(batch, "dropped", "user_id") == 1


def test_a_profile_under_the_assistants_other_name_is_joined_and_told(tmp_path: Path) -> None:
    key = str((12, "worker-1", "mistral-large-2407"))
    path = release(
        tmp_path / "data",
        [math(model="mistral-large-latest")],
        [document(model="mistral-large-2407")],
        knowledge={key: {"concepts": []}},
    )
    batch = read(path)
    assert {c.assistant for c in batch.conversations} == {"mistral-large-latest", "mistral-large-2407"}
    assert batch.facts["profiles math_tutoring"] == "1 of 1"
    assert noted(batch, "repaired", "other name") == 1 and noted(batch, "warning", "one assistant under two names") == 1


def test_states_are_one_of_four_and_odd_ones_are_told(tmp_path: Path) -> None:
    states = ["Knows well", "PARTIAL  understanding", "struggling", "Not Introduced", "Mastered"]
    concepts = [{"Concept Name": f"c{i}", "Status": state} for i, state in enumerate(states)]
    path = release(tmp_path / "data", [math()], knowledge={str((12, "worker-1", "gpt-4o")): {"concepts": concepts}})
    profile = read(path).profiles[0]
    assert [k.state for k in profile.knowledge or ()] == [
        "knows well",
        "partial understanding",
        "struggling",
        "not introduced",
        "unknown",
    ]
    assert profile.extractor == "released" and "Mastered" in profile.problems[0]


def test_preferences_and_styles_are_joined_by_their_own_key(tmp_path: Path) -> None:
    key = "gpt-4o_worker-2_email_Thank a colleague"
    wish = {"Preference Name": "Tone", "Preference Question": "Formal?", "Preference Question Answer": "No."}
    styles = "user_simulator_profiles/document_creation/"
    path = release(
        tmp_path / "data",
        documents=[document()],
        preferences={key: [wish, {"Preference Name": "Empty"}]},
        **{
            styles + "writing_style.json": {key: {"tone": "casual", "typos": "many"}},
            styles + "interaction_style.json": {key: 17},
        },
    )
    batch = read(path)
    profile = batch.profiles[0]
    assert [(p.name, p.question, p.answer) for p in profile.preferences or ()] == [("Tone", "Formal?", "No.")]
    assert [(s.key, s.value) for s in profile.writing or ()] == [("tone", "casual"), ("typos", "many")]
    assert profile.interaction is None and noted(batch, "dropped", "interaction_style of an unknown shape") == 1
    assert noted(batch, "dropped", "preferences without a name or an answer") == 1


def test_a_conversation_without_a_released_profile_has_none(tmp_path: Path) -> None:
    batch = read(release(tmp_path / "data", [math()], knowledge={"(1, 'x', 'y')": {"concepts": []}}))
    assert batch.profiles == [] and batch.facts["profiles math_tutoring"] == "0 of 1"


# --- turns -----------------------------------------------------------------------------------------------------------


def test_odd_messages_keep_their_place_and_are_counted(tmp_path: Path) -> None:
    batch = read(
        release(tmp_path / "data", [math(user_queries=["a", ["files/x/a.png"], ""], ai_responses=["b", None, "c"])])
    )
    turns = only(batch).turns
    assert [(t.role, t.text, t.missing, t.attachments) for t in turns] == [
        ("user", "a", False, ()),
        ("assistant", "b", False, ()),
        ("user", "", False, ("files/x/a.png",)),
        ("assistant", "", True, ()),
        ("user", "", False, ()),
        ("assistant", "c", False, ()),
    ]
    assert [t.position for t in turns] == list(range(6))
    assert noted(batch, "repaired", "null replies") == noted(batch, "repaired", "list of files") == 1
    assert noted(batch, "warning", "empty messages") == 1


@pytest.mark.parametrize(("count", "parts"), [(-1, "111"), (0, "111"), (1, "122"), (2, "112"), (3, "111"), (9, "111")])
def test_turns_after_the_first_problem_belong_to_the_second(tmp_path: Path, count: int, parts: str) -> None:
    conversation = only(read(release(tmp_path / "data", [math(problem_1_turns=count)])))
    assert "".join(t.part[-1] for t in conversation.turns if t.part and t.role == "user") == parts
    assert all(a.part == b.part for a, b in zip(conversation.turns[::2], conversation.turns[1::2], strict=True))


def test_uneven_lists_lose_no_turn(tmp_path: Path) -> None:
    batch = read(release(tmp_path / "data", [math(ai_responses=["only one"])]))
    assert [t.role for t in only(batch).turns] == ["user", "assistant", "user", "user"]
    assert noted(batch, "warning", "not as many replies") == 1


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("so \\\\( \\frac{1}{2} \\\\) and \\\\[ x \\\\]", "so \\( \\frac{1}{2} \\) and \\[ x \\]"),
        ("\\\\(\\\\frac{1}{2}\\\\)", "\\(\\frac{1}{2}\\)"),
        ("\\begin{aligned} a \\\\ b \\end{aligned}", "\\begin{aligned} a \\\\ b \\end{aligned}"),
        ("\\begin{aligned} a \\\\[2pt] b \\end{aligned}", "\\begin{aligned} a \\\\[2pt] b \\end{aligned}"),
        ("\\begin{aligned} a \\\\b \\end{aligned}", "\\begin{aligned} a \\\\b \\end{aligned}"),
        ("no backslash, $5", "no backslash, $5"),
        ("\\( x \\)", "\\( x \\)"),
    ],
)
def test_doubled_backslashes_are_halved_where_they_are_no_line_break(stored: str, shown: str) -> None:
    assert normalise_latex(stored) == shown


def test_the_original_text_is_kept_beside_the_normalised_one(tmp_path: Path) -> None:
    batch = read(release(tmp_path / "data", [math(ai_responses=["\\\\(x\\\\)", "plain", "y"])]))
    turn, plain = only(batch).turns[1], only(batch).turns[3]
    assert (turn.text, turn.display, turn.shown) == ("\\\\(x\\\\)", "\\(x\\)", "\\(x\\)")
    assert plain.display is None and noted(batch, "repaired", "doubled backslashes") == 1


# --- votes -----------------------------------------------------------------------------------------------------------


def thumbs(batch: Batch) -> list[tuple[int | None, Any]]:
    return [(a.target.turn, a.value) for a in said(batch, "thumb")]


def test_math_votes_point_at_replies_and_the_rest_is_dropped_and_counted(tmp_path: Path) -> None:
    votes = {
        "[0, 1]": ["Try.", True],
        "[1, 1]": ["Ye", False],
        "[0, 0]": ["how?", True],
        "[7, 1]": ["x", True],
        "[-1, 1]": ["x", True],
        "zero": ["x", True],
        "[2, 1]": ["never said", False],
    }
    batch = read(release(tmp_path / "data", [math(turn_level_vote=votes)]))
    assert thumbs(batch) == [(1, "up"), (3, "down")]
    assert said(batch, "thumb")[1].flags == ("turn_level_vote", "prefix")
    assert noted(batch, "repaired", "beginning of the reply") == 1
    assert noted(batch, "dropped", "points at a user turn") == noted(batch, "dropped", "beyond the last reply") == 1
    assert noted(batch, "dropped", "means no turn") == 2 and noted(batch, "dropped", "not the reply's") == 1
    provenance = only(batch).provenance
    assert provenance is not None and len(provenance.repairs) == 5


def test_a_vote_at_the_wrong_place_goes_to_the_reply_whose_text_it_holds(tmp_path: Path) -> None:
    batch = read(
        release(
            tmp_path / "data",
            [
                math(
                    problem_1_turns=2, problem_2_turn_level_vote={"[0, 1]": ["Go on.", True], "[1, 1]": ["Yes.", False]}
                )
            ],
        )
    )
    assert thumbs(batch) == [(3, "down"), (5, "up")]
    assert noted(batch, "repaired", "another reply") == 1 and noted(batch, "warning", "on a reply of the first") == 1


def test_document_votes_count_two_lines_before_the_first_exchange(tmp_path: Path) -> None:
    votes = {
        "[2, 2]": [["Dear…"], True],
        "[4, 4]": [["Hi"], False],
        "[3, 3]": [["shorter"], True],
        "[0, 0]": [["x"], True],
        "[2, 4]": [["Dear…"], True],
        "[60, 60]": [["x"], False],
    }
    batch = read(release(tmp_path / "data", documents=[document(turn_level_vote=votes)]))
    assert thumbs(batch) == [(1, "up"), (3, "down")]
    assert noted(batch, "dropped", "votes in turn_level_vote") == 4


# --- ratings, texts, outcomes ----------------------------------------------------------------------------------------


def test_ratings_and_texts_become_annotations_of_the_person(tmp_path: Path) -> None:
    batch = read(
        release(
            tmp_path / "data",
            [
                math(
                    moved_to_problem_2=True,
                    problem_2_correctness="incorrect",
                    problem_2_solve_or_not="no",
                    problem_1_turns=2,
                    overall_rating_for_problem_2=3,
                    strength_weakness_for_problem_2="",
                    why_stop_for_problem_2=None,
                    why_stop_other_reason="supper",
                    cheat="",
                )
            ],
            [document()],
        )
    )
    values = {
        scale: [a.value for a in said(batch, scale)]
        for scale in (
            "interaction",
            "interaction_problem_2",
            "document",
            "strengths",
            "weaknesses",
            "strengths_weaknesses",
            "strengths_weaknesses_problem_2",
            "why_stop_other",
        )
    }
    assert values == {
        "interaction": [9, 8],
        "interaction_problem_2": [3],
        "document": [6],
        "strengths": ["fast"],
        "weaknesses": ["none"],
        "strengths_weaknesses": ["patient"],
        "strengths_weaknesses_problem_2": [],
        "why_stop_other": ["supper"],
    }
    conversation = next(c for c in batch.conversations if c.task == "math_tutoring")
    assert conversation.outcome == {
        "correct": True,
        "correct_problem_2": False,
        "solved_selfreport": True,
        "solved_selfreport_problem_2": False,
        "final_answer": "7",
        "moved_to_problem_2": True,
    }
    assert conversation.ended == "I felt confident." and conversation.survey["why_ask_tutor"] == "no idea"
    raters = {rater.id: rater for rater in batch.raters}
    assert all(
        raters[a.rater].name == next(c for c in batch.conversations if c.id == a.target.conversation).participant
        for a in batch.annotations
    )


@pytest.mark.parametrize("value", [0, 11, 10.5, "eight", True, [8]])
def test_a_rating_that_the_scale_does_not_know_stops_the_import(tmp_path: Path, value: Any) -> None:
    path = release(tmp_path / "data", [math(), math(overall_rating=value)])
    with pytest.raises(InputError, match=r"record 2: scale 'interaction'"):
        read(path)


def test_a_rating_written_as_text_is_read_and_told(tmp_path: Path) -> None:
    batch = read(release(tmp_path / "data", [math(overall_rating="8"), math(overall_rating=None, workerId="w")]))
    assert [a.value for a in said(batch, "interaction")] == [8]
    assert noted(batch, "repaired", "that were texts") == 1 and noted(batch, "warning", "without a rating") == 1


def test_a_redacted_problem_has_no_text_and_keeps_its_concepts(tmp_path: Path) -> None:
    concepts = {"12": {"extracted_concepts": [{"Concept Name": "Sums", "Concept Explanation": "to add"}]}}
    batch = read(release(tmp_path / "data", [math()], concepts=concepts))
    item = batch.items[0]
    assert item.key == "12" and "problem" not in item.inputs and item.tags == {"level": "Level 3", "subject": "Algebra"}
    assert item.reference["concepts"] == [{"name": "Sums", "explanation": "to add"}]
    assert item.inputs["concepts"] == "Sums" and noted(batch, "warning", "redacted") == 1


def test_a_restored_problem_keeps_its_solution_from_both_sides(tmp_path: Path) -> None:
    batch = read(
        release(
            tmp_path / "data", [math(question="What is 1+1?", solution="It is $2$.", problem_1_gold_final_answer="2")]
        )
    )
    item = batch.items[0]
    assert item.inputs == {"problem": "What is 1+1?"} and item.private == {}
    assert item.reference["solution"] == "It is $2$." and item.reference["answer"] == "2"


# --- documents -------------------------------------------------------------------------------------------------------


def test_every_turn_has_a_version_and_says_whether_it_changed(tmp_path: Path) -> None:
    conversation = only(read(release(tmp_path / "data", documents=[document()])))
    assert [(v.version, v.turn, v.text, v.changed) for v in conversation.documents] == [
        (0, 1, "", False),
        (1, 3, "Hi", True),
        (2, 5, "Hi", False),
    ]
    assert conversation.document == "Hi"


def test_the_persons_edit_is_theirs(tmp_path: Path) -> None:
    batch = read(
        release(
            tmp_path / "data",
            documents=[
                document(edit_document=True, edit_document_index=1, edit_document_old="Hello"),
                document(edit_document=True, edit_document_index=9, workerId="w"),
            ],
        )
    )
    first, second = batch.conversations
    assert [v.author for v in first.documents] == ["model", "user", "model"]
    assert first.survey["document_before_edit"] == "Hello"
    assert {v.author for v in second.documents} == {"model"} and noted(batch, "dropped", "edits of a document") == 1


def test_answers_before_writing_are_the_persons_and_the_released_ones_only_fill_in(tmp_path: Path) -> None:
    key = "gpt-4o_{}_email_Thank a colleague"
    released = [{"question": "Why?", "answer": ["a", "b"]}]
    without = {k: v for k, v in document(workerId="worker-3").items() if not k.startswith("bullet_points")}
    batch = read(
        release(
            tmp_path / "data",
            documents=[document(), without],
            background={key.format("worker-2"): released, key.format("worker-3"): released},
        )
    )
    own, filled = batch.conversations
    assert own.survey["prewriting"] == [{"question": "Who?", "answer": "Ada"}, {"question": "When?", "answer": ""}]
    assert filled.survey["prewriting"] == [{"question": "Why?", "answer": "a; b"}]
    assert noted(batch, "dropped", "released backgrounds") == 1 and noted(batch, "repaired", "released background") == 1


def test_an_own_topic_is_told_by_the_absent_index(tmp_path: Path) -> None:
    own = {k: v for k, v in document(workerId="w").items() if k != "selected_intent_index"}
    batch = read(release(tmp_path / "data", documents=[document(), own]))
    assert [c.tags["own_topic"] for c in batch.conversations] == ["no", "yes"]
    assert len(batch.items) == 1 and batch.items[0].inputs["intent"] == "Thank a colleague"


# --- files -----------------------------------------------------------------------------------------------------------


def test_the_licence_beside_the_data_says_what_may_be_shared(tmp_path: Path) -> None:
    shared = read(release(tmp_path / "a", [math()])).participants[0]
    assert shared.scopes == ("take_part", "share_deidentified", "share_verbatim")
    assert shared.scopes_basis == "public release, MIT"
    for name, text in (("b", None), ("c", "All rights reserved.")):
        (tmp_path / name).mkdir()
        batch = read(release(tmp_path / name / "data", [math()], licence=text))
        assert batch.participants[0].scopes == ("take_part",) and noted(batch, "warning", "known licence") == 1
    above = tmp_path / "d"
    above.mkdir()
    (above / "LICENSE").write_text(MIT)
    assert read(release(above / "data", [math()], licence=None)).facts["licence"] == "MIT"


def test_one_file_a_folder_and_a_checkout_are_the_same(tmp_path: Path) -> None:
    folder = release(tmp_path / "data", [math()], knowledge={str((12, "worker-1", "gpt-4o")): {"concepts": []}})
    file = next(folder.glob("*.json"))
    for path in (folder, file, tmp_path):
        batch = read(path)
        assert len(batch.conversations) == len(batch.profiles) == 1


def test_what_two_files_of_a_release_share_is_taken_once_from_the_complete_one(tmp_path: Path) -> None:
    folder = release(tmp_path / "data", [math()])
    (folder / "math_tutoring_annotations.json").write_text(
        json.dumps([math(question="Q"), math(workerId="w", question="Q")])
    )
    batch = read(folder)
    assert len(batch.conversations) == 2 and noted(batch, "warning", "taken once") == 1
    assert batch.items[0].inputs == {"problem": "Q"}


def test_equal_conversations_within_a_file_are_two_trials(tmp_path: Path) -> None:
    batch = read(release(tmp_path / "data", [math(), math()]))
    assert [c.provenance.trial for c in batch.conversations if c.provenance] == ["0", "1"]
    assert len({c.content_hash for c in batch.conversations}) == 1


def test_unknown_fields_are_counted_by_name(tmp_path: Path) -> None:
    batch = read(release(tmp_path / "data", [math(mood="good"), math(mood="bad", workerId="w")]))
    assert batch.notes["dropped", "field 'mood': not known"] == 2


@pytest.mark.parametrize("name", ["workerId", "model", "problem_id", "user_queries"])
def test_a_record_without_what_identifies_it_is_refused_by_its_number(tmp_path: Path, name: str) -> None:
    record = {k: v for k, v in math().items() if k != name}
    path = release(tmp_path / "data", [math(), record])
    with pytest.raises(InputError, match=f"record 2: field '{name}' is missing"):
        read(path)


def test_a_folder_without_the_release_is_not_taken_for_it(tmp_path: Path) -> None:
    (tmp_path / "some.json").write_text('{"user_queries": 1, "ai_responses": 2, "workerId": 3}')
    with pytest.raises(UnknownFormatError, match="Known: simulatorarena"):
        detect(tmp_path)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([3, 43], (1, 45)),
        ([0], (1, 5)),
        ([5], (5, 5)),
        ([4], (1, 5)),
        ([83, 12], (10, 85)),
        ([30, 105], (30, 105)),
        ([], None),
    ],
)
def test_the_length_range_is_never_the_exact_number(words: list[int], expected: tuple[int, int] | None) -> None:
    assert length_range(words) == expected


def test_the_length_range_of_a_math_profile_is_of_the_first_problem(tmp_path: Path) -> None:
    path = release(
        tmp_path / "data",
        [math(user_queries=["one two three", ["/x.png"], "w " * 90], problem_1_turns=2)],
        knowledge={str((12, "worker-1", "gpt-4o")): {"concepts": []}},
    )
    assert read(path).profiles[0].length_range == (1, 5)


# --- the public subset -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def public() -> Batch:
    folder = SHARED / "data" / "simulatorarena"
    if not folder.is_dir():
        pytest.skip("the public subset is not part of the project")
    return read(folder)


@pytest.mark.shared
def test_the_public_subset_is_complete(public: Batch) -> None:
    assert [len(x) for x in (public.conversations, public.participants, public.items, public.profiles)] == [
        101,
        77,
        96,
        101,
    ]
    assert public.facts == {
        "licence": "MIT",
        "profiles document_creation": "51 of 51",
        "profiles math_tutoring": "50 of 50",
    }
    replies = [t for c in public.conversations if c.task == "math_tutoring" for t in c.turns if t.role == "assistant"]
    assert sum(not t.missing for t in replies) == 562 and sum(t.display is not None for t in replies) == 220
    documents = [c for c in public.conversations if c.documents]
    assert sum(len(c.documents) for c in documents) == 349
    assert sum(not c.documents[0].text.strip() for c in documents) == 20


def leaves(value: Any, path: str = "") -> dict[str, Any]:
    if not isinstance(value, dict):
        return {path: value}
    return {key: leaf for name, part in value.items() for key, leaf in leaves(part, f"{path}/{name}").items()}


@pytest.mark.shared
@pytest.mark.parametrize("task", ["math_tutoring", "document_creation"])
def test_the_human_reference_figures_come_out(public: Batch, task: str) -> None:
    from scipy import stats

    expected = json.loads((SHARED / "cases" / "human_reference.json").read_text())[task]
    got = human_reference(public.conversations, public.annotations, public.items)[task]
    pairs = human_pairs(public.conversations, public.annotations, public.items)[task]
    for name, (x, y) in pairs.items():
        found: dict[str, float] = {"n": len(x)}
        for method, test in (
            ("spearman", stats.spearmanr),
            ("pearson", stats.pearsonr),
            ("kendall", stats.kendalltau),
            ("pointbiserial", stats.pointbiserialr),
        ):
            if method in expected[name]:
                arguments = (y, x) if method == "pointbiserial" else (x, y)
                found[method], found[f"{method}_p"] = (float(number) for number in test(*arguments))
        got[name] = found
    wanted, have = leaves(expected), leaves(got)
    assert wanted.keys() == have.keys() and len(wanted) > 200
    assert have == pytest.approx(wanted, abs=1e-9, nan_ok=True)
