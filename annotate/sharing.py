"""What people consented to share, and what is left of a record without that consent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from annotate.schema import ConsentScope, Conversation, Item, Participant, Rater, Scale

Sharing = Literal["verbatim", "deidentified", "none"]
_RANK: dict[Sharing, int] = {"none": 0, "deidentified": 1, "verbatim": 2}


def sharing_of(scopes: Iterable[ConsentScope]) -> Sharing:
    """Return how much a person with these scopes lets out: everything, all but their words, or nothing."""
    given = set(scopes)
    return "verbatim" if "share_verbatim" in given else "deidentified" if "share_deidentified" in given else "none"


class Consent:
    """Decides what of a study may leave it, never more than `most`.

    A human conversation goes by its person's scopes, and a twin by those of the person whom it is a twin of, for it
    repeats what they told. Raters who are people of the study go by their own scopes.
    """

    def __init__(
        self, participants: Iterable[Participant], conversations: Iterable[Conversation], most: Sharing = "verbatim"
    ) -> None:
        self._most = most
        self._people = {person.id: sharing_of(person.scopes) for person in participants if person.kind == "human"}
        self._scopes: dict[str, tuple[ConsentScope, ...]] = {}
        human: dict[str, str] = {}
        twins: list[tuple[str, str]] = []
        self._conversations: dict[str, Sharing] = {}
        self._own_items: dict[str, Sharing] = {}
        self._common_items: set[str] = set()
        for conversation in conversations:
            if conversation.origin == "human":
                human[conversation.id] = conversation.participant
                found = self._at_most(self._people.get(conversation.participant, "none"))
                self._conversations[conversation.id] = found
                if conversation.tags.get("own_topic") == "yes":
                    self._own_items[conversation.item] = max(
                        found, self._own_items.get(conversation.item, "none"), key=_RANK.__getitem__
                    )
                else:
                    self._common_items.add(conversation.item)
            else:
                twins.append((conversation.id, conversation.twin_of or ""))
        for identity, original in twins:
            # Of a person whose conversation is not here, nothing is known that would allow to share their twin.
            self._conversations[identity] = self._conversations.get(original, "none") if original else most

    def conversation(self, identity: str | None) -> Sharing:
        """Return how much of a conversation may be shared."""
        return "verbatim" if identity is None else self._conversations.get(identity, "none")

    def participant(self, person: Participant) -> Sharing:
        """Return how much of a participant may be shared."""
        return "verbatim" if person.kind == "simulator" else self._at_most(self._people.get(person.id, "none"))

    def rater(self, rater: Rater) -> Sharing:
        """Return how much of what a rater said may be shared: people of the study by their scopes, others all."""
        return self._at_most(self._people.get(rater.name, "verbatim") if rater.kind == "human" else "verbatim")

    def item(self, item: Item) -> Sharing:
        """Return how much of an item may be shared: a topic of somebody's own goes by their scopes."""
        return "verbatim" if item.id in self._common_items else self._own_items.get(item.id, "verbatim")

    def _at_most(self, sharing: Sharing) -> Sharing:
        return min(sharing, self._most, key=_RANK.__getitem__)


def blank(value: Any, counts: Counter[str]) -> Any:
    """Return a value with every text in it replaced by None, which is counted; numbers and keys stay."""
    if isinstance(value, str):
        counts["texts"] += 1
        return None
    if isinstance(value, Mapping):
        return {name: blank(part, counts) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [blank(part, counts) for part in value]
    return value


def without_words(line: dict[str, Any], counts: Counter[str]) -> dict[str, Any]:
    """Return the line of a conversation without anything that was written: structure, choices and numbers stay.

    The content hash and the source go too, since either leads back to the words.
    """
    found = {name: value for name, value in line.items() if name not in ("content_hash", "provenance")}
    hidden = ("text", "display", "private", "tool_calls", "attachments")
    found["turns"] = [
        {**{name: part for name, part in turn.items() if name not in hidden}, "text": blank(turn["text"], counts)}
        for turn in line["turns"]
    ]
    if "documents" in line:
        found["documents"] = [{**version, "text": blank(version["text"], counts)} for version in line["documents"]]
    for name in ("outcome", "survey"):
        if name in line:
            found[name] = blank(line[name], counts)
    if len(str(line.get("ended") or "").split()) > 1:  # one word is a code such as "cap"; more may be the person's
        found["ended"] = blank(line["ended"], counts)
    return {**found, "withheld": True}


def annotation_without_words(line: dict[str, Any], scale: Scale | None, counts: Counter[str]) -> dict[str, Any]:
    """Return the line of an annotation without quotes, comments and free texts."""
    found = {name: value for name, value in line.items() if name != "comment"}
    if "comment" in line:
        counts["texts"] += 1
    if (evidence := line.get("evidence")) and evidence.get("quote"):
        counts["texts"] += 1
        found["evidence"] = {name: value for name, value in evidence.items() if name != "quote"}
    if scale is not None and scale.level == "text" and "value" in line:
        counts["texts"] += 1
        del found["value"]
        found["withheld"] = True
    return found


def profile_without_words(line: dict[str, Any], counts: Counter[str]) -> dict[str, Any]:
    """Return the line of a profile without what its person said word for word."""
    found = dict(line)
    for part in ("knowledge", "writing", "interaction"):
        if line.get(part):
            counts["texts"] += sum("quote" in entry for entry in line[part])
            found[part] = [{name: value for name, value in entry.items() if name != "quote"} for entry in line[part]]
    if line.get("preferences"):  # the answers say in free text what the person wanted, names included
        counts["texts"] += len(line["preferences"])
        found["preferences"] = [{**entry, "answer": ""} for entry in line["preferences"]]
    return found


def item_without_words(line: dict[str, Any], counts: Counter[str]) -> dict[str, Any]:
    """Return the line of an item whose topic is somebody's own without that topic."""
    return {**line, **{name: blank(line[name], counts) for name in ("inputs", "private") if name in line}}
