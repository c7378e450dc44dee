"""Takes secrets out of texts that leave the house: by what they look like, by what stands before
them, and by what is known to be one."""

import hashlib
import re
from collections.abc import Iterable
from typing import Any, Final

REMOVED: Final = "[removed]"
LEAST: Final = 6  # characters of a known secret; shorter ones would tear words apart
# why repeats have bounds: log lines come from strangers, and must not take longer than they are
_NAMED: Final = (
    r"(?:password|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|"
    r"private[_-]?key|signing[_-]?key|account[_-]?key|credential|signature|cookie|"
    r"authorization|session)[\w.-]{0,64}"
)
_QUOTE: Final = r"\\{0,7}[\"']"  # also as JSON in JSON has it
_QUOTED: Final = r"(?:\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')"
# In this order: what spans most comes first.
PATTERNS: Final = (
    (re.compile(r"-----BEGIN [A-Z ]+-----.*?(?:-----END [A-Z ]+-----|\Z)", re.DOTALL), REMOVED),
    # a log's last lines may begin in the middle of one
    (re.compile(r"\A[^\r\n]*\r?\n(?:[\w+/=]+\r?\n)*-----END [A-Z ]+-----"), REMOVED),
    # a header: all of its line, or of the quoted text that it is
    (
        re.compile(
            r"(?i)((?:proxy-)?authorization|(?:set-)?cookie|x-api-key|api-key|x-auth-token)"
            rf"((?:{_QUOTE})?\s*[:=,]\s*b?(?:{_QUOTE})?)(?:=\"[^\"\r\n]*\"|[^\"'\r\n])+"
        ),
        rf"\1\2{REMOVED}",
    ),
    (re.compile(r"(?i)\b(bearer|basic|digest)\s+[\w.~+/=:-]{6,}"), rf"\1 {REMOVED}"),
    # of an address: name and password, also one with a slash that nobody quoted
    (
        re.compile(r"(://)[^\s/\"'<>@:]{0,64}:(?!\d{1,5}[/?#])[^\s\"'<>]{0,200}@"),
        rf"\1{REMOVED}@",
    ),
    (re.compile(r"(://)[^\s/\"'<>]*@"), rf"\1{REMOVED}@"),
    # who knows the address of a hook may call it
    (
        re.compile(r"(?i)(://[^\s\"'<>?#]{0,200}?hooks?(?:\.[^\s/\"'<>]{1,200})?/)[^\s\"'<>]+"),
        rf"\1{REMOVED}",
    ),
    # name=value, "name": "value", ("name", "value"), --name value, with or without quotes
    (
        re.compile(
            rf"(?i)({_NAMED}(?:{_QUOTE})?\s{{0,8}}(?:=>|[:=])\s{{0,8}})"
            rf"(?:b?{_QUOTED}|\\{{1,7}}[\"'](?:[^\"'\\\r\n]|\\(?![\"']))*|\S+)"
        ),
        rf"\1{REMOVED}",
    ),
    (re.compile(rf"(?i)({_NAMED}[\"']\s{{0,8}},\s{{0,8}})b?{_QUOTED}"), rf"\1{REMOVED}"),
    (re.compile(rf"(?i)(--[\w-]{{0,24}}{_NAMED}\s{{1,8}})\S+"), rf"\1{REMOVED}"),
    (re.compile(r"\b(?:snode|sjoin)_[\w.-]{8,}"), REMOVED),  # our own
    (re.compile(r"\bshoal_(?=[\w-]*[A-Z])[\w-]{20,}"), REMOVED),  # metrics are spelled small
    (re.compile(r"([?&](?:[\w-]{0,32}[_-])?(?:sig|key|code|auth)=)[^\s&\"']+"), rf"\1{REMOVED}"),
    (re.compile(r"\beyJ[\w-]+\.[\w-]+\.[\w-]*"), REMOVED),  # a JSON web token
    (re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{12,}\b"), REMOVED),  # of Amazon
    (re.compile(r"\b(?:hf|ghp|gho|glpat|xox[a-z]|sk|pk|whsec)[_-][\w-]{8,}"), REMOVED),  # of others
    (
        re.compile(r"(?<![\w.+%-])[\w.+%-]{1,64}@(?:[\w-]{1,63}\.)+[A-Za-z]{2,}"),
        REMOVED,
    ),  # an e-mail address
)
# Long and of all kinds of characters, as random texts are; words and paths are not.
_RANDOM: Final = re.compile(
    r"(?<![\w+-])(?=[\w+-]*[a-z])(?=[\w+-]*[A-Z])(?=[\w+-]*\d)[\w+-]{20,}=*"
)
_HEX: Final = re.compile(r"\b[0-9a-fA-F]{24,}\b")
# Members whose values people fill with anything.
_FREE: Final = frozenset(
    {"environment", "env", "headers", "parameters", "variables", "tags", "labels"}
)
_NAME: Final = re.compile(rf"(?i){_NAMED}")


class Scrubber:
    def __init__(self, known: Iterable[str] = ()) -> None:
        """``known`` are secrets as they are; longer ones go before those that they contain."""
        texts = {text.strip() for text in known}
        found = sorted((text for text in texts if len(text) >= LEAST), key=len, reverse=True)
        self._known = found

    def text(self, text: str) -> str:
        for secret in self._known:
            text = text.replace(secret, REMOVED)
        for pattern, instead in PATTERNS:
            text = pattern.sub(instead, text)
        text = _RANDOM.sub(REMOVED, text)
        # why not all of it: a digest or a trace is to be found again in other lines
        return _HEX.sub(lambda found: f"[hex {alias(found.group())}]", text)

    def value(self, value: Any) -> Any:
        """The same for everything in what was JSON."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(one) for one in value]
        if isinstance(value, dict):
            return {
                self.text(str(name)): self._member(str(name), one) for name, one in value.items()
            }
        return value

    def _member(self, name: str, value: Any) -> Any:
        if name in _FREE or (_NAME.search(name) and isinstance(value, str | list | dict)):
            return REMOVED if value else value
        return self.value(value)


def alias(text: str) -> str:
    """Eight characters that are the same for the same text, and tell nothing of it."""
    return hashlib.sha256(text.lower().encode()).hexdigest()[:8]
