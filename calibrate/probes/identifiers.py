"""The identifiers that a blueprint gives its user, and how a message may write them.

Nine kinds: name, phone, e-mail, post code, date of birth, user id, and the numbers of orders, reservations and means
of payment. What two people would read as the same identifier is the same here: `(555) 010-4477` and `5550104477`,
`1990-03-07` and `March 7th, 1990`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

KINDS = ("name", "phone", "email", "post_code", "birth_date", "user_id", "order", "reservation", "payment")
PERSONAL = frozenset({"name", "phone", "email", "post_code", "birth_date", "user_id"})
"""Kinds that say who one is; the others say what the matter is about."""


@dataclass(frozen=True, slots=True)
class Identifier:
    """One identifier: its kind and its value in one normal form."""

    kind: str
    value: str


_MONTHS = ["january", "february", "march", "april", "may", "june", "july"]
_MONTHS += ["august", "september", "october", "november", "december"]
_MONTH = "|".join(f"{month[:3]}(?:{month[3:]})?" if len(month) > 3 else month for month in _MONTHS)
_DATE = re.compile(
    r"(?<!\d)(?:(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})"
    r"|(?P<a>\d{1,2})[-/.](?P<b>\d{1,2})[-/.](?P<y2>\d{4})"
    rf"|(?P<name>{_MONTH})\.?\s+(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?:of\s+)?(?P<y3>\d{{4}})"
    rf"|(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<name2>{_MONTH})\.?,?\s+(?P<y4>\d{{4}}))(?!\d)",
    re.IGNORECASE,
)
_BORN = re.compile(r"\bbirth|\bborn\b|\bdob\b|\bd\.o\.b", re.IGNORECASE)
_PHONE = re.compile(r"(?<![\w#])\+?\(?\d[\d().\-  ]{7,18}\d(?!\w)")
_CALLED_PHONE = re.compile(r"\b(?:phone|mobile|telephone|cell|call you (?:at|on))\b", re.IGNORECASE)
_EMAIL = re.compile(r"(?<![\w.%+\-])[A-Za-z0-9._%+\-]{1,64}@[A-Za-z0-9\-]{1,63}(?:\.[A-Za-z0-9\-]{1,63}){1,8}")
_POST_CODE = re.compile(r"(?<![\w#$.\-])\d{5}(?:-\d{4})?(?![\w%]|[.,]\d|-\d)")
_USER_ID = re.compile(r"\b[a-z]{1,40}(?:_[a-z]{1,40}){1,4}_\d{3,5}\b", re.IGNORECASE)
_ORDER = re.compile(r"#?\bW\s?\d{7}\b", re.IGNORECASE)
_PAYMENT = re.compile(r"\b(?:credit_card|gift_card|debit_card|paypal|certificate|bank_account)_\d{3,}\b", re.IGNORECASE)
_RESERVATION = re.compile(r"\b(?=[A-Z0-9]*\d)(?=[A-Z0-9]*[A-Z])[A-Z0-9]{6}\b")
_RESERVATION_NAMED = re.compile(
    r"\b(?:reservation|booking|confirmation)s?\s*(?:(?:id|number|code|no\.?)s?\s*)?(?:is|are|[:#])?\s*([A-Z0-9]{6})\b"
)
_NAME_WORD = r"[A-Z][a-zà-öø-ÿ]+(?:['’\-][A-Z]?[a-zà-öø-ÿ]+)?"
_NAME = re.compile(
    rf"\b(?:[Yy]ou(?:r)? name is|[Nn]ame is|[Nn]ame:|[Yy]ou are|[Yy]ou['’]re|[Nn]amed|[Cc]alled)\s+"
    rf"({_NAME_WORD}(?:\s+(?:[A-Z]\.|{_NAME_WORD})){{1,2}})"
)
_NO_NAME = re.compile(
    r"\b(?:Card|Gold|Silver|Rewards?|York|States|United|Francisco|Angeles|Visa|Airlines?|Member|Customer|Airport|City)\b"
)


def _digits(text: str) -> str:
    return re.sub(r"\D", "", text)


def _date_values(match: re.Match[str]) -> list[str]:
    """Return the days a written date may mean, as `yyyy-mm-dd`; `03/07/1990` may be either."""
    part = match.groupdict()
    month_name = part["name"] or part["name2"]
    if month_name:
        month = next(k for k, name in enumerate(_MONTHS, 1) if name.startswith(month_name[:3].lower()))
        pairs = [(part["y3"] or part["y4"], month, int(part["d2"] or part["d3"]))]
    elif part["y"]:
        pairs = [(part["y"], int(part["m"]), int(part["d"]))]
    else:
        first, second = int(part["a"]), int(part["b"])
        pairs = [(part["y2"], first, second), (part["y2"], second, first)]
    return sorted({f"{y}-{m:02d}-{d:02d}" for y, m, d in pairs if 1 <= m <= 12 and 1 <= d <= 31})


def dates(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield every calendar date in a text as (`yyyy-mm-dd`, span), an ambiguous one in both readings."""
    for match in _DATE.finditer(text):
        for value in _date_values(match):
            yield value, match.span()


def _phones(text: str) -> Iterator[str]:
    """Yield numbers of 9 to 13 digits that are written as, or called, a telephone number; item numbers are neither."""
    for match in _PHONE.finditer(text):
        digits, written = _digits(match.group()), match.group().strip()
        separated = len(re.findall(r"[().\-  ]+", written)) >= 2 or written.startswith("+")
        called = _CALLED_PHONE.search(text[max(0, match.start() - 30) : match.start()])
        if 9 <= len(digits) <= 13 and (separated or called) and not _DATE.fullmatch(written):
            yield digits[-10:]


def _birth_dates(text: str) -> Iterator[str]:
    for value, (start, end) in dates(text):
        if _BORN.search(text[max(0, start - 40) : end + 40]):
            yield value


def _names(text: str) -> Iterator[str]:
    for match in _NAME.finditer(text):
        if not _NO_NAME.search(match.group(1)):
            yield " ".join(match.group(1).split()).lower().replace("’", "'")


def _reservations(text: str) -> Iterator[str]:
    for match in _RESERVATION.finditer(text):
        yield match.group()
    for match in _RESERVATION_NAMED.finditer(text):
        yield match.group(1)


def _pattern(expression: re.Pattern[str], form: Callable[[str], str]) -> Callable[[str], Iterator[str]]:
    def found(text: str) -> Iterator[str]:
        for match in expression.finditer(text):
            yield form(match.group())

    return found


_FINDERS: dict[str, Callable[[str], Iterator[str]]] = {
    "name": _names,
    "phone": _phones,
    "email": _pattern(_EMAIL, lambda value: value.lower().rstrip(".")),
    "post_code": _pattern(_POST_CODE, lambda value: value[:5]),
    "birth_date": _birth_dates,
    "user_id": _pattern(_USER_ID, str.lower),
    "order": _pattern(_ORDER, lambda value: "W" + _digits(value)),
    "reservation": _reservations,
    "payment": _pattern(_PAYMENT, str.lower),
}


def identifiers_in(text: str) -> list[Identifier]:
    """Return the identifiers that a blueprint's text gives, each once, by kind."""
    found: dict[Identifier, None] = {}
    for kind, finder in _FINDERS.items():
        for value in finder(text):
            found[Identifier(kind, value)] = None
    return list(found)


def span_in(identifier: Identifier, text: str) -> tuple[int, int] | None:
    """Return where a message gives an identifier, in whatever way it is written; None where it does not."""
    kind, value = identifier.kind, identifier.value
    if kind == "birth_date":
        return next((span for day, span in dates(text) if day == value), None)
    match = re.search(_said_pattern(kind, value), text.replace("’", "'"), re.IGNORECASE)
    return None if match is None else match.span()


@cache
def _said_pattern(kind: str, value: str) -> str:
    """Return the pattern of an identifier in somebody's words; `text` must have straight apostrophes."""
    exact = re.escape(value)
    if kind == "name":
        words = value.split()
        first, last = re.escape(words[0]), re.escape(words[-1])
        # The name inside an e-mail address or a user id is not the name said.
        return rf"(?<![\w@.]){first}(?:\s+[\w.'\-]+)?\s+{last}(?![\w@])|(?<![\w@.]){last},\s*{first}(?![\w@])"
    if kind == "phone":
        return r"(?<!\d)\(?" + r"[().\-  ]{0,3}".join(value) + r"(?!\d)"
    if kind == "order":
        return rf"(?<!\w)#?W?[\s-]?{value[1:]}(?!\d)"
    if kind == "reservation":
        return rf"\b{'[ -]?'.join(value)}\b"
    if kind == "post_code":
        return rf"(?<![\w#$]){exact}(?![\w%]|[.,]\d)"
    return rf"(?<![\w.]){exact}(?!\w)"


def blanked(text: str, identifiers: Iterable[Identifier]) -> str:
    """Return a text with the given identifiers replaced by their kinds in brackets, so that it can be quoted."""
    for entry in identifiers:
        while (span := span_in(entry, text)) is not None:
            text = f"{text[: span[0]]}[{entry.kind}]{text[span[1] :]}"
    return text


def known_text(blueprint: Mapping[str, Any]) -> str:
    """Return the part of a blueprint that says what the user knows: `known_info`, or all of a one-string blueprint."""
    if isinstance(blueprint.get("text"), str):
        return str(blueprint["text"])
    return str(blueprint.get("known_info") or "")
