"""The nouns of UserCal: frozen records, checked once at the border, trusted inside.

Everything anybody says about a conversation is an `Annotation`: a rater puts a value on a scale for a target.
`id` is opaque and made at creation; `content_hash` is what a conversation says, set when it is complete.
"""

from __future__ import annotations

import hashlib
import json
import math
import secrets
from datetime import UTC, datetime
from typing import Any, ClassVar, Literal, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, model_validator

from annotate.errors import InputError

Role = Literal["user", "assistant", "system", "tool"]
Origin = Literal["human", "simulated"]
Missing = Literal["skipped", "unparsable", "not_applicable"]
ConsentScope = Literal["take_part", "share_deidentified", "share_verbatim"]
Level = Literal["nominal", "ordinal", "interval", "ratio", "text"]
TargetKind = Literal["conversation", "turn", "pair", "criterion", "verdict"]
SeenBy = Literal["both", "user", "assistant", "neither"]
Value = str | int | float | bool


def new_id(prefix: str) -> str:
    """Make an opaque identity such as `c_5f2a…` (64 random bits); it says nothing about the content."""
    return f"{prefix}_{secrets.token_hex(8)}"


def now() -> datetime:
    """Return the present moment in UTC."""
    return datetime.now(UTC)


def canonical_hash(value: Any) -> str:
    """Return sha256 over the canonical JSON of `value`: the same content gives the same hash on every machine."""
    # Lone surrogates occur in real files; "surrogatepass" keeps them apart instead of failing.
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Noun(BaseModel):
    """Base of all records: frozen, no unknown field."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    schema_version: ClassVar[int] = 1


class Usage(Noun):
    """Tokens of one call as the provider counted them; None where it did not say."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


class ToolCall(Noun):
    """One call of a tool, by the user or the assistant."""

    name: str
    arguments: dict[str, Any] | str = Field(default_factory=dict)
    id: str | None = None
    result: str | None = None
    error: bool = False


class Turn(Noun):
    """One message: `text` is the original, `display` a repaired rendering, `private` never shown to the other side.

    `seen_by` says to which side the message as a whole was shown: the result of a tool only to the side that called it.
    `answers` is, on a turn of a tool, the id of the call whose result it is.
    """

    position: int = Field(ge=0)
    role: Role
    text: str
    display: str | None = None
    private: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    attachments: tuple[str, ...] = ()
    missing: bool = False
    part: str | None = None
    seen_by: SeenBy = "both"
    answers: str | None = None
    created_at: AwareDatetime | None = None
    seconds: float | None = None
    usage: Usage | None = None
    call_ids: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """The text as a page or a prompt shows it."""
        return self.text if self.display is None else self.display

    @property
    def words(self) -> int:
        """Whitespace tokens of the original text."""
        return len(self.text.split())


class DocumentVersion(Noun):
    """The canvas after a turn: `turn` is the position of the turn that it follows, `author` who changed it."""

    version: int = Field(ge=0)
    turn: int = Field(ge=-1)
    text: str
    author: Literal["model", "user", "assistant"] = "model"
    changed: bool = True

    @property
    def words(self) -> int:
        """Whitespace tokens."""
        return len(self.text.split())


class Item(Noun):
    """One instance of a task. `inputs` both sides may see, `private` only the user, `reference` neither."""

    id: str
    task: str
    key: str
    inputs: dict[str, Any] = Field(default_factory=dict)
    private: dict[str, Any] = Field(default_factory=dict)
    reference: dict[str, Any] = Field(default_factory=dict)
    tags: dict[str, str] = Field(default_factory=dict)


class Participant(Noun):
    """A person (under a pseudonym, with the scopes they consented to) or a simulator."""

    id: str
    kind: Literal["human", "simulator"]
    scopes: tuple[ConsentScope, ...] = ()
    scopes_basis: str | None = None
    background: dict[str, Any] = Field(default_factory=dict)


class Knowledge(Noun):
    """What a person knows of one concept, with the turn that shows it."""

    concept: str
    state: Literal["knows well", "partial understanding", "struggling", "not introduced", "unknown"]
    turn: int | None = None
    quote: str | None = None


class Preference(Noun):
    """What a person wants of a document."""

    name: str
    question: str
    answer: str


class StyleValue(Noun):
    """The value of one style attribute for one person; `unknown` where no evidence was found."""

    key: str
    value: str
    turn: int | None = None
    quote: str | None = None


class Profile(Noun):
    """What a twin is given of its person; each part may be None (never extracted) or empty (nothing found)."""

    id: str
    task: str
    conversation: str
    participant: str
    knowledge: tuple[Knowledge, ...] | None = None
    preferences: tuple[Preference, ...] | None = None
    writing: tuple[StyleValue, ...] | None = None
    interaction: tuple[StyleValue, ...] | None = None
    length_range: tuple[int, int] | None = None
    extractor: str
    call_ids: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    created_at: AwareDatetime = Field(default_factory=now)


class Provenance(Noun):
    """Where an imported record comes from."""

    format: str
    file: str
    record: str
    licence: str | None = None
    trial: str = "0"
    repairs: tuple[str, ...] = ()


class Conversation(Noun):
    """One conversation of a user, human or simulated, with an assistant about an item."""

    id: str
    task: str
    item: str
    participant: str
    assistant: str
    origin: Origin
    turns: tuple[Turn, ...] = ()
    documents: tuple[DocumentVersion, ...] = ()
    ended: str | None = None
    outcome: dict[str, Any] = Field(default_factory=dict)
    survey: dict[str, Any] = Field(default_factory=dict)
    cost_usd: float | None = None
    run: str | None = None
    cell: str | None = None
    strategy: str | None = None
    profile: str | None = None
    twin_of: str | None = None
    tags: dict[str, str] = Field(default_factory=dict)
    provenance: Provenance | None = None
    content_hash: str | None = None
    created_at: AwareDatetime = Field(default_factory=now)

    def completed(self) -> Self:
        """Return the same conversation with `content_hash` set."""
        return self.model_copy(update={"content_hash": content_hash(self.turns)})

    def messages(self, part: str | None = None) -> tuple[Turn, ...]:
        """Return the user's and the assistant's turns, of one part (such as `problem_1`) where it is given."""
        return tuple(t for t in self.turns if t.role in ("user", "assistant") and (part is None or t.part == part))

    @property
    def document(self) -> str | None:
        """The last version of the document, or None where the task has none."""
        return self.documents[-1].text if self.documents else None


def content_hash(turns: tuple[Turn, ...]) -> str:
    """Return sha256 over (role, text, tool calls) of the turns."""
    return canonical_hash([[t.role, t.text, [[c.name, c.arguments] for c in t.tool_calls]] for t in turns])


class Scale(Noun):
    """What a rater may say: level of measurement, bounds or labels, and the kind of target."""

    name: str
    level: Level
    target: TargetKind = "conversation"
    minimum: float | None = None
    maximum: float | None = None
    labels: tuple[str, ...] = ()
    question: str = ""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.name.strip():
            raise ValueError("a scale needs a name")
        if len(set(self.labels)) < len(self.labels) or not all(label.strip() for label in self.labels):
            raise ValueError(f"scale {self.name!r}: a label is empty or stands twice; give each another text")
        if self.level == "nominal" and not self.labels:
            raise ValueError(f"scale {self.name!r} is nominal and has no labels; list them in 'labels'")
        if not all(math.isfinite(bound) for bound in (self.minimum, self.maximum) if bound is not None):
            raise ValueError(f"scale {self.name!r}: a bound is a number; leave out 'minimum' or 'maximum' for none")
        if self.minimum is not None and self.maximum is not None and self.minimum >= self.maximum:
            raise ValueError(f"scale {self.name!r}: minimum {self.minimum} is not below maximum {self.maximum}")
        return self

    @property
    def numeric(self) -> bool:
        """Whether values are numbers."""
        return not self.labels and self.level != "text"

    def check(self, value: Value) -> Value:
        """Return `value` if the scale allows it; raise `InputError` with the rule, the value and the remedy."""
        if self.level == "text":
            return str(value)
        if self.labels:
            if value not in self.labels:
                raise InputError(
                    f"scale {self.name!r}: {value!r} is none of {', '.join(self.labels)}. "
                    "Fix the export, or add the label to the scale."
                )
            return value
        if isinstance(value, (bool, str)) or not math.isfinite(value):
            raise InputError(f"scale {self.name!r}: {value!r} is not a number. Fix the export.")
        for bound, side in ((self.maximum, "above"), (self.minimum, "below")):
            if bound is not None and (value > bound if side == "above" else value < bound):
                raise InputError(
                    f"scale {self.name!r}: value {value:g} is {side} {bound:g}. Fix the export, or widen the scale."
                )
        return value


class Rater(Noun):
    """Who rates: a person under a pseudonym, or a model with the hash of its prompt.

    `repeat_of` names the rater of the first time where the same model is asked once more; such a one is another rater.
    """

    id: str
    kind: Literal["human", "model"]
    name: str
    model: str | None = None
    prompt_hash: str | None = None
    repeat_of: str | None = None


class Target(Noun):
    """What is rated: a conversation, a turn, a pair, a criterion, or a criterion on a conversation (`verdict`)."""

    kind: TargetKind = "conversation"
    conversation: str | None = None
    other: str | None = None
    turn: int | None = None
    criterion: str | None = None


class Evidence(Noun):
    """What a rater points at; `found` says whether code found the quote in that turn."""

    turn: int | None = None
    quote: str | None = None
    found: bool | None = None


class Presentation(Noun):
    """How the target was shown: the place of the human conversation in a pair, and the order among the targets."""

    position: int | None = None
    order: int | None = None


class Annotation(Noun):
    """One rater's value on one scale for one target; a correction is a new row that `supersedes` the old."""

    id: str
    rater: str
    scale: str
    target: Target
    value: Value | None = None
    missing: Missing | None = None
    confidence: float | None = Field(default=None, ge=0, le=1)
    evidence: Evidence | None = None
    presentation: Presentation | None = None
    flags: tuple[str, ...] = ()
    seconds: float | None = Field(default=None, ge=0)
    comment: str | None = None
    call_id: str | None = None
    run: str | None = None
    supersedes: str | None = None
    created_at: AwareDatetime = Field(default_factory=now)

    @model_validator(mode="after")
    def _one_of(self) -> Self:
        if (self.value is None) == (self.missing is None):
            raise ValueError("an annotation has exactly one of 'value' and 'missing'")
        return self


class Criterion(Noun):
    """One atomic rule of a rubric, with the verbatim span it is grounded in; a pass is the user keeping it.

    `applies` says when it applies, empty where it always does; `item` is the task that it was written for.
    """

    id: str
    family: str
    mode: str
    text: str
    source: Literal["blueprint", "guidelines", "tools"]
    span: str
    applies: str = ""
    item: str | None = None


class UserTool(Noun):
    """A tool that a user has: `kind` is read, write, or empty where nobody says."""

    name: str
    kind: str = ""
    arguments: tuple[str, ...] = ()


class Rubric(Noun):
    """The criteria of one task as somebody wrote them, and the contract that they were written for.

    name: of the rubric set that it is meant for. writer: the id of a rater, `template VERSION` or `people`; model: the
    model's name where one wrote. criteria: their ids, in order; none where the reply held none, and `fault` says why.
    revises: the rubric whose rejected criteria this one puts right; its own are further ones. The hashes are those of
    the contract; `guidelines_hash` is None where the guidelines are not known.
    """

    id: str
    name: str
    item: str
    domain: str
    writer: str
    model: str | None = None
    criteria: tuple[str, ...] = ()
    fault: str | None = None
    blueprint_hash: str
    guidelines_hash: str | None = None
    tools_hash: str
    tools: tuple[UserTool, ...] = ()
    sample: str | None = None
    revises: str | None = None
    call_ids: tuple[str, ...] = ()
    created_at: AwareDatetime = Field(default_factory=now)


class Rejection(Noun):
    """A criterion that may not be judged by, with the check that it failed and who found that: code or a model."""

    criterion: str
    check: str | None
    reason: str
    by: Literal["code", "model", "people"]


class RubricSet(Noun):
    """Rubrics frozen together: what is judged by, and what was rejected and why.

    content_hash: over the accepted criteria and the hashes of their tasks' contracts, so that equal sets have equal
    hashes whatever they are called. rubrics: the ids of the `Rubric`s, one or more a task. forced: whether the
    verifier is the model that wrote. redundancy: by what repeated rules were told, such as `words`.
    """

    id: str
    name: str
    version: int = Field(ge=1)
    content_hash: str
    rubrics: tuple[str, ...]
    criteria: tuple[str, ...]
    rejected: tuple[Rejection, ...] = ()
    writers: tuple[str, ...] = ()
    verifier: str | None = None
    forced: bool = False
    redundancy: str | None = None
    created_at: AwareDatetime = Field(default_factory=now)

    @property
    def label(self) -> str:
        """What it is called where its numbers are printed: `retail-v1 #3fa9c1`."""
        return f"{self.name}-v{self.version} #{self.content_hash[:6]}"


class Assignment(Noun):
    """Who rates or does what, leased, with its batch, stratum and inclusion probability."""

    id: str
    target: Target
    rater: str | None = None
    batch: str = ""
    stratum: str = ""
    inclusion_probability: float | None = None
    leased_until: AwareDatetime | None = None
    done: bool = False


class Run(Noun):
    """One planned piece of work, with the configuration it was planned from."""

    id: str
    name: str
    config: dict[str, Any]
    created_at: AwareDatetime = Field(default_factory=now)


class Cell(Noun):
    """One planned unit of a run; its id is the hash of what it is, so planning twice plans it once."""

    id: str
    run: str
    kind: Literal["profile", "conversation", "annotation", "rubric", "review", "verdict"]
    spec: dict[str, Any]


class Failure(Noun):
    """Why something was not done; never an empty turn, a zero or a silent skip."""

    id: str
    kind: str
    message: str
    cell: str | None = None
    call_id: str | None = None
    retryable: bool = False
    created_at: AwareDatetime = Field(default_factory=now)


class Call(Noun):
    """One request to a model and what came of it. `key` names what was asked; only good replies are reused."""

    id: str
    key: str
    model: str
    purpose: str
    request: dict[str, Any]
    sent: dict[str, Any] = Field(default_factory=dict)
    prompt: str | None = None
    prompt_hash: str | None = None
    reply: str | None = None
    structured_by: Literal["schema", "tool", "text"] | None = None
    finish_reason: str | None = None
    failure: str | None = None
    failure_message: str | None = None
    usage: Usage | None = None
    cost_usd: float | None = None
    cost_basis: Literal["study", "litellm", "free", "unknown"] = "unknown"
    seconds: float | None = None
    attempts: int = 1
    recorded: bool = False
    created_at: AwareDatetime = Field(default_factory=now)
