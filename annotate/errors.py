"""The errors that UserCal raises on purpose.

UserCalError                 a user can mend it; one sentence, exit code 2
├── InputError               a file or a value breaks a rule
│   ├── InvalidData          numbers that a statistic cannot be computed from (also a ValueError)
│   └── UnknownFormatError   no importer knows the file
├── ConfigError              a key or a value in study.toml or a run file
├── StudyError               the study folder is missing, locked or not what it should be
├── StoreError               the store cannot be opened, read or written
│   └── StoreVersionError    the store was written by a newer version
├── OutcomeError             a task's own code could not judge an outcome
├── ModelError               a model cannot be used as asked; nothing was paid
├── MissingExtraError        an optional dependency is not installed
└── BudgetError              the budget is used up; exit code 3
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserCalError(Exception):
    """Base of every error that is the user's to mend: one sentence with the rule, the value and the remedy."""

    exit_code = 2


class InputError(UserCalError):
    """A file or a value breaks a rule."""


class InvalidData(InputError, ValueError):
    """Arrays that break a statistic's rules: one sentence with the rule, the value and the remedy.

    Too little data is no error: it makes a statistic `Undefined`, with its reason.
    """


class UnknownFormatError(InputError):
    """No importer knows the file."""


class ConfigError(UserCalError):
    """A key or a value in `study.toml` or a run file is wrong."""


class StudyError(UserCalError):
    """The study folder is missing or is not what it should be."""


class StoreError(UserCalError):
    """The store cannot be opened, read or written."""


class StoreVersionError(StoreError):
    """The store was written by a newer version of UserCal."""


class OutcomeError(UserCalError):
    """A task's `outcome.py` raised, or said what its scale does not allow; what it was to judge is kept."""


class ModelError(UserCalError):
    """A model cannot be used as asked; nothing was sent or paid."""


class MissingExtraError(UserCalError):
    """An optional dependency is needed and not installed."""

    def __init__(self, extra: str, needed_for: str) -> None:
        super().__init__(f"{needed_for} needs the extra {extra!r}: pip install 'usercal[{extra}]'.")
        self.extra = extra


class BudgetError(UserCalError):
    """The budget of a run is used up; what was paid for is kept."""

    exit_code = 3


def nearest(word: str, allowed: Iterable[str]) -> str:
    """Return `"; did you mean 'x'?"` for the closest allowed word, or a full stop where none is close."""
    close = difflib.get_close_matches(word, list(allowed), n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else "."
