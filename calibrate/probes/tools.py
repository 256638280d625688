"""The tools that simulated users have in the public tau2 domains: which of them change something, and their nouns.

Source: the tool surfaces of tau2-bench (MIT licence), read off the kind each tool declares; retail and airline give
their users no tools. A run that lists its own tools (`user_tools` with `name` and `kind`) overrides this table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

Kind = Literal["read", "write"]


@dataclass(frozen=True, slots=True)
class UserTool:
    """A tool of the user: whether it changes something, how people name it, and what counts as having used it."""

    name: str
    domain: str
    kind: Kind
    noun: str | None = None
    """How people name what the tool acts on; None where no claim about it can be recognised."""


_AIRPLANE = r"\b(?:air[ -]?plane|aeroplane|flight)[ -]mode\b"
_MOBILE_DATA = (
    r"\b(?:mobile|cellular|cell|phone)[ -]data\b(?![ -](?:sav|usage|roaming|limit|plan|allowance|speed|issue))"
)
_ROAMING = r"\broaming\b"
_SAVER = r"\bdata[ -]?sav(?:er|ing)\b"
_VPN = r"\bvpn\b"
_APN = r"\bapn\b|\baccess[ -]point[ -]names?\b"
_SIM = r"\be?sim(?:[ -]?card)?\b"
_REBOOT = (
    r"\bre-?boot|\brestart(?:ed|ing|s)?\b|\bpower[ -]?cycl"
    r"|\bturn(?:ed|ing)? (?:it|(?:your|my|the) (?:phone|device)) off"
    r"|\bpower(?:ed|ing)? (?:it|(?:your|my|the) (?:phone|device)) off"
    r"|\bpower(?:ed|ing)? off (?:your|my|the) (?:phone|device)"
)
_WIFI_CALLING = r"\bwi-?fi[ -]calling\b"
_WIFI = r"\bwi-?fi\b(?![ -]calling)"
_MODE = r"\bnetwork[ -](?:mode|type|preference)|\bpreferred[ -]network|\b[2345]g\b"
_PERMISSION = r"\bpermissions?\b"
_BILL = r"\bpay(?:ment|ments|ing)?\b|\bpaid\b|\bbills?\b"

_TELECOM: dict[str, tuple[Kind, str | None]] = {
    "check_status_bar": ("read", None),
    "check_network_status": ("read", None),
    "check_network_mode_preference": ("read", None),
    "set_network_mode_preference": ("write", _MODE),
    "run_speed_test": ("read", r"\bspeed[ -]?test\b"),
    "toggle_airplane_mode": ("write", _AIRPLANE),
    "check_sim_status": ("read", None),
    "reseat_sim_card": ("write", _SIM),
    "toggle_data": ("write", _MOBILE_DATA),
    "toggle_roaming": ("write", _ROAMING),
    "check_data_restriction_status": ("read", None),
    "toggle_data_saver_mode": ("write", _SAVER),
    "check_apn_settings": ("read", None),
    "set_apn_settings": ("write", _APN),
    "reset_apn_settings": ("write", _APN),
    "check_wifi_status": ("read", None),
    "toggle_wifi": ("write", _WIFI),
    "check_wifi_calling_status": ("read", None),
    "toggle_wifi_calling": ("write", _WIFI_CALLING),
    "check_vpn_status": ("read", None),
    "connect_vpn": ("write", _VPN),
    "disconnect_vpn": ("write", _VPN),
    "check_installed_apps": ("read", None),
    "check_app_status": ("read", None),
    "check_app_permissions": ("read", None),
    "grant_app_permission": ("write", _PERMISSION),
    "can_send_mms": ("read", None),
    "reboot_device": ("write", _REBOOT),
    "check_payment_request": ("read", None),
    "make_payment": ("write", _BILL),
}
_BANKING: dict[str, tuple[Kind, str | None]] = {
    "apply_for_credit_card": ("write", r"\bappl(?:y|ied|ication)\b"),
    "submit_referral": ("write", r"\breferr?(?:al|ed)\b"),
    "submit_transaction": ("write", r"\btransaction\b"),
    "request_human_agent_transfer": ("write", r"\bhuman\b|\btransfer\b"),
    "call_discoverable_user_tool": ("write", None),
    "list_discoverable_user_tools": ("read", None),
}
_MOCK: dict[str, tuple[Kind, str | None]] = {
    "check_notifications": ("read", None),
    "dismiss_notification": ("write", r"\bnotifications?\b"),
}

USER_TOOLS: dict[str, dict[str, UserTool]] = {
    domain: {name: UserTool(name, domain, kind, noun) for name, (kind, noun) in tools.items()}
    for domain, tools in (("telecom", _TELECOM), ("banking_knowledge", _BANKING), ("mock", _MOCK))
}
"""Domain → name → tool. A domain without an entry gives its users no tools that are known here."""

_BY_NAME: dict[str, UserTool] = {tool.name: tool for tools in USER_TOOLS.values() for tool in tools.values()}

TOGGLES = frozenset(name for name in _BY_NAME if name.startswith("toggle_"))
"""Tools that flip a setting: twice is as good as never."""


def known_tool(name: str) -> UserTool | None:
    """Return the tool of that name, whatever the domain; None where it is not known."""
    return _BY_NAME.get(name)


def tool_kinds(run_config: Mapping[str, Any] | None) -> dict[str, Kind]:
    """Return what a run's own list of user tools says of each tool; empty where it says nothing."""
    kinds: dict[str, Kind] = {}
    for entry in (run_config or {}).get("user_tools") or ():
        if isinstance(entry, Mapping) and isinstance(entry.get("name"), str):
            kind = str(entry.get("kind") or entry.get("type") or "").lower()
            if kind in ("read", "write"):
                kinds[entry["name"]] = "write" if kind == "write" else "read"
    return kinds


def writes(name: str, kinds: Mapping[str, Kind] | None = None) -> bool:
    """Whether a tool changes something; a name that nobody declared counts as a write, so that no miss is hidden."""
    declared = (kinds or {}).get(name)
    if declared is not None:
        return declared == "write"
    tool = known_tool(name)
    return tool is None or tool.kind == "write"


@cache
def noun_pattern(name: str) -> re.Pattern[str] | None:
    """Return how people name what a tool acts on; an unknown tool goes by the words of its name."""
    tool = known_tool(name)
    if tool is not None:
        return re.compile(tool.noun, re.IGNORECASE) if tool.noun else None
    words = [re.escape(word) for word in re.split(r"[_\W]+", name) if word]
    return re.compile(r"\b" + r"[ _-]".join(words) + r"\b", re.IGNORECASE) if words else None
