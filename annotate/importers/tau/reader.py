"""Read one source in batches: what memory holds is a part of the file and one batch, however large the file is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from annotate.errors import InputError
from annotate.importers.contract import Batch, Notes, Options
from annotate.importers.reading import Piece, TolerantDecoder, stream_pieces
from annotate.importers.tau import guidelines, values
from annotate.importers.tau.blueprints import Blueprint
from annotate.importers.tau.design import UNKNOWN, DesignRow
from annotate.importers.tau.episodes import DUMMY_USER, Episode, Maker
from annotate.importers.tau.files import RunFile
from annotate.importers.tau.header import Header, domain_has_user_tools, read_header, tool_names
from annotate.importers.tau.messages import NOT_A_NUMBER, ORDER_DOUBTFUL, OTHER_ROLE
from annotate.importers.tau.redaction import Redactor
from annotate.importers.tau.shapes import is_episode
from annotate.importers.tau.summary import FileSummary
from annotate.schema import Conversation, Item, Participant, Run, canonical_hash

BATCH = 200
_WARNED = (ORDER_DOUBTFUL, OTHER_ROLE)
_TWICE = "episodes stand twice in one file (same words, task and trial): stored once"
_ONE_NAME = "--proxy {proxy} gives one name to several models ({models}), which then count as one"


@dataclass
class TauReading:
    """One source that is being read: `batches` gives its nouns, `summary` counts them, `rows` is for the design."""

    source: RunFile
    options: Options
    tasks: dict[str, Blueprint] = field(default_factory=dict)
    on_read: Callable[[int], None] | None = None
    rows: list[tuple[str, DesignRow]] = field(default_factory=list)
    notes: Notes = field(default_factory=Notes)

    def __post_init__(self) -> None:
        self.summary = FileSummary(self.source.label, str(self.source.path))
        self._redactor = Redactor()
        self._formats: Counter[str] = Counter()
        self._policy: str | None = None
        self._user_has_tools = False
        self._stored: set[str] = set()
        self._models: set[str] = set()
        self._numbers = 0
        self._done = 0

    @property
    def label(self) -> str:
        """The name of the file, as it is stored."""
        return self.source.label

    def batches(self) -> Iterator[Batch]:
        """Yield the nouns, some hundred episodes at a time; the last batch holds the run. Raises `InputError`."""
        header = read_header(self.source.path, self._redactor)
        maker: Maker | None = None
        batch = self._batch()
        seen_items: set[str] = set()
        people: set[str] = set()
        for place, raw in self._episodes():
            if maker is None:
                maker = Maker(self.label, self._run_id(header, raw), header, self.options, self._redactor, self.tasks)
            episode = maker.make(raw, place)
            self._count(episode)
            _put(batch, episode, seen_items, people)
            if len(batch.conversations) >= BATCH:
                yield batch
                batch = self._batch()
        self._finish(header)
        if maker is not None:
            batch.runs.append(self._run(maker.run, header))
        yield batch

    def stored(self, batch: Batch, new: int, names: Mapping[str, str]) -> None:
        """Take note of how much of a batch was new, and of what it is called in the store."""
        twice = 0
        for conversation in batch.conversations:
            identity = names[conversation.id]
            if identity in self._stored:
                twice += 1
            else:
                self._stored.add(identity)
                self.rows.append(_row(conversation, identity))
        self.summary.new += new
        self.summary.already_there += len(batch.conversations) - new - twice
        if twice:
            self.summary.warnings[_TWICE] += twice

    def told(self) -> tuple[FileSummary, list[tuple[str, DesignRow]]]:
        """Return what is to be summed up: the counts, with what holding the file against the store added."""
        for (kind, text), count in self.notes.items():
            (self.summary.warnings if kind == "warning" else self.summary.repaired)[text] = count
        return self.summary, self.rows

    def _batch(self) -> Batch:
        return Batch("tau", files=[self.source.path], notes=self.notes)

    def _episodes(self) -> Iterator[tuple[str, Any]]:
        """Yield the episodes with their places, those of the file and then those of the files beside it."""
        known: set[str] = set()
        for path in (self.source.path, *self.source.parts):
            decoder = TolerantDecoder(path)
            stem = "" if path == self.source.path else f"{path.name}:"
            whole: dict[str, Any] = {}
            pieces = stream_pieces(path, decoder, _streamed, on_read=self._read_so_far)
            for place, raw in _episodes_of(pieces, whole):
                identity = raw.get("id") if self.source.parts else None
                if identity is None or str(identity) not in known:
                    known.add(str(identity))
                    yield f"{stem}{place}", raw
            if is_episode(whole):
                yield stem.rstrip(":") or "0", whole
            self._numbers += decoder.unknown_numbers
            self._done += path.stat().st_size

    def _read_so_far(self, read: int) -> None:
        if self.on_read is not None:
            self.on_read(self._done + read)

    def _run_id(self, header: Header, first: Any) -> str:
        """Return the same id for the same run, also when its file has grown, and whatever the caller adds."""
        made: Any = header.info
        if not header.info:
            made = first.get("id", first.get("task_id")) if isinstance(first, dict) else None
        return "run_" + canonical_hash(["tau", self.label, made])[:16]

    def _run(self, identity: str, header: Header) -> Run:
        policy = header.environment.get("policy")
        config: dict[str, Any] = {
            "format": self.summary.format,
            "file": self.label,
            "domain": next(iter(self.summary.domains), values.UNKNOWN),
            "user": _side(header, "user", self._one(self.summary.proxies)),
            "agent": _side(header, "agent", self._one(self.summary.agents)),
            **{name: header.info.get(name) for name in ("num_trials", "max_steps", "git_commit")},
            "policy": policy if isinstance(policy, str) else self._policy,
            "guidelines": self.summary.guidelines,
        }
        if tools := tool_names(header):
            config["user_tools"] = tools
        return Run(id=identity, name=self.label, config=config)

    @staticmethod
    def _one(names: Counter[str]) -> str | None:
        """Return a name that all episodes share."""
        return next(iter(names)) if len(names) == 1 and UNKNOWN not in names else None

    def _count(self, episode: Episode) -> None:
        said, summary = episode.conversation, self.summary
        tags = said.tags
        summary.episodes += 1
        self._formats[episode.format] += 1
        summary.domains[tags["domain"]] += 1
        summary.proxies[tags["proxy"]] += 1
        summary.agents[tags["agent"]] += 1
        summary.endings[str(said.ended)] += 1
        summary.statuses[episode.status.status] += 1
        if episode.status.reason is not None:
            summary.reasons[f"{episode.status.status}: {episode.status.reason}"] += 1
        if (reward := said.outcome["reward"]) is not None:
            summary.reward_sum += reward
            summary.n_reward += 1
        none = episode.status.reason is not None and episode.status.reason.startswith("solo")
        basis = "known" if episode.cost_known else "none" if none else "zero" if episode.cost_zero else "absent"
        summary.costs[tags["proxy"], basis] += 1
        if episode.upfront:
            summary.upfront.add((tags["domain"], tags["task_id"]))
        for text, count in episode.notes.items():
            (summary.warnings if text in _WARNED else summary.repaired)[text] += count
        self._models.add(str(episode.participant.background["model"]))
        self._policy = self._policy or episode.policy
        self._user_has_tools = self._user_has_tools or episode.user_has_tools

    def _finish(self, header: Header) -> None:
        """Decide what only the whole file tells: its format, the guidelines, what was repaired."""
        summary = self.summary
        summary.format = _format(self._formats, header)
        if self._numbers:
            summary.repaired[NOT_A_NUMBER] += self._numbers
        user = header.side("user")
        domain = header.domain or next(iter(summary.domains), UNKNOWN)
        has_user = user.get("implementation") != DUMMY_USER
        if self.options.proxy is not None and len(self._models) > 1:
            summary.warnings[_ONE_NAME.format(proxy=self.options.proxy, models=", ".join(sorted(self._models)))] += 1
        acts = self._user_has_tools or domain_has_user_tools(domain) or bool(tool_names(header))
        text = user.get("global_simulation_guidelines")
        told = guidelines.right_text(
            self._redactor.text(text) if isinstance(text, str) else None, self.options.guidelines, acts, has_user
        )
        summary.guidelines = told.config()
        summary.secrets_removed = self._redactor.removed
        summary.settings = user.get("llm_args") or {}


def _row(said: Conversation, identity: str) -> tuple[str, DesignRow]:
    """Return an episode as a design sees it, under the identity that it has in the store."""
    proxy, agent, domain, task, trial = (said.tags[name] for name in ("proxy", "agent", "domain", "task_id", "trial"))
    blueprint = said.item if said.tags.get("blueprint") == "known" else ""
    return identity, DesignRow(proxy, agent, domain, task, trial, said.outcome["status"], blueprint=blueprint)


def _streamed(name: str) -> bool:
    return True


def _episodes_of(pieces: Iterator[Piece], whole: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield episodes in a list or as members; what else the file holds is put into `whole`.

    A file that holds one episode has its messages in a list too, which is why lists that are none of episodes are kept.
    """
    for name, index, value in pieces:
        if name in ("", "simulations"):
            if index is not None and index >= 0:
                yield str(index), value
        elif index is None:
            if is_episode(value):
                yield name, value
            else:
                whole[name] = value
        elif index == -1:
            whole[name] = []
        elif is_episode(value):
            yield f"{name} {index}", value
        elif name in ("messages", "traj", "ticks"):
            whole[name].append(value)


def _put(batch: Batch, episode: Episode, items: set[str], people: set[str]) -> None:
    item: Item = episode.item
    person: Participant = episode.participant
    if item.id not in items:
        items.add(item.id)
        batch.items.append(item)
    if person.id not in people:
        people.add(person.id)
        batch.participants.append(person)
    batch.conversations.append(episode.conversation)


def _side(header: Header, name: str, model: str | None) -> dict[str, Any]:
    told = header.side(name)
    known = values.name(told.get("llm"))
    return {
        "model": known if known != values.UNKNOWN else model,
        "implementation": told.get("implementation"),
        "llm_args": told.get("llm_args") or {},
    }


def _format(formats: Counter[str], header: Header) -> str:
    if not formats:
        return "tau2" if header.info else "unknown"
    name = formats.most_common(1)[0][0]
    return {"tau-bench 1": "tau-bench 1", "tau2 1": "tau2 1.0"}.get(name, "tau2 0.x")


__all__ = ["InputError", "TauReading"]
