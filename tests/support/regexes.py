"""Every regular expression of the tree, found in its syntax, and texts that make one slow.

A pattern is slow where a text has many ways to be read: repeats beside or in one another, or a
search that reads on from each place. The texts here are made from the pattern itself: for each
repeat what leads to it, what it repeats many times over, and an end that does not fit.
"""

import ast
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from re import _constants as names
from re import _parser as parser
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
TREES: Final = ("controlplane", "worker_runtime", "node_agent", "shoal", "answers", "wire")
SEARCHES: Final = frozenset({"search", "finditer", "findall", "sub", "subn", "split", "scanner"})
METHODS: Final = SEARCHES | {"match", "fullmatch"}
FIELDS: Final = frozenset({"RegexField", "RegexValidator", "re_path"})  # the last argument of these
TRIES: Final = 100
MANY: Final = 3_000
MOST: Final = 16_000
QUICK_S: Final = 0.003
SLOW_S: Final = 0.08  # of the processor, for MOST characters: linear takes some milliseconds
CATEGORIES: Final = {
    names.CATEGORY_DIGIT: "0", names.CATEGORY_SPACE: " \n", names.CATEGORY_WORD: "a_",
    names.CATEGORY_NOT_DIGIT: "a", names.CATEGORY_NOT_SPACE: "a", names.CATEGORY_NOT_WORD: "-",
}  # fmt: skip
OTHERS: Final = "az0 -!/\n"


@dataclass(frozen=True)
class Found:
    """One expression: where it stands, and whether it is searched for or must begin the text."""

    place: str  # path:name, or path:line of one without a name
    pattern: str | bytes
    flags: int
    searched: bool


class Unreadable(Exception):
    """The pattern is made at run time."""


class Module:
    """One file: its constants, and the expressions in it."""

    def __init__(self, path: Path) -> None:
        self.path = path.relative_to(ROOT).as_posix()
        self.tree = ast.parse(path.read_text())
        self.constants: dict[str, ast.expr] = {}
        for node in self.tree.body:
            target = node.targets[0] if isinstance(node, ast.Assign) else None
            target = node.target if isinstance(node, ast.AnnAssign) else target
            value = getattr(node, "value", None)
            if isinstance(target, ast.Name) and isinstance(value, ast.expr):
                self.constants[target.id] = value

    def calls(self) -> Iterator[tuple[ast.Call, str, str, str]]:
        """(call, function, name that its value is given, what is called of it at once)."""
        named = {id(value): name for name, value in self.constants.items()}
        owned = {
            id(node.value): node.attr
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Attribute)
        }
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call):
                name, after = named.get(id(node), ""), owned.get(id(node), "")
                yield node, _called(node.func), name, after

    def value(self, node: ast.expr) -> Any:
        """The constant that an expression is. Raises Unreadable."""
        match node:
            case ast.Constant():
                return node.value
            case ast.JoinedStr():
                return "".join(str(self.value(part)) for part in node.values)
            case ast.FormattedValue():
                return self.value(node.value)
            case ast.Name() if node.id in self.constants:
                return self.value(self.constants[node.id])
            case ast.BinOp(op=ast.Add()):
                return self.value(node.left) + self.value(node.right)
            case ast.BinOp(op=ast.BitOr()):
                return self.value(node.left) | self.value(node.right)
            case ast.Attribute(value=ast.Name(id="re")):
                return getattr(re, node.attr)
            case ast.Call() if _called(node.func) == "re.escape":
                return "escaped"  # whatever it is, it is plain text
        raise Unreadable(ast.unparse(node))


def _called(node: ast.expr) -> str:
    match node:
        case ast.Name():
            return node.id
        case ast.Attribute(value=ast.Name(id="re")):
            return f"re.{node.attr}"
        case ast.Attribute():
            return node.attr
    return ""


@cache
def modules() -> tuple[Module, ...]:
    return tuple(Module(path) for tree in TREES for path in sorted((ROOT / tree).rglob("*.py")))


def expressions(makers: dict[str, tuple[str, str]]) -> tuple[list[Found], list[str]]:
    """All of them, and the places of those whose pattern cannot be read.

    ``makers``: place -> (function, file): what makes it of the first argument of its calls.
    """
    uses = _uses()
    found, unread = [], []
    for module in modules():
        for call, function, name, after in module.calls():
            method = function.removeprefix("re.")
            place = f"{module.path}:{name or call.lineno}"
            if function.startswith("re.") and (method in METHODS or method == "compile"):
                pattern = call.args[0]
            elif method in FIELDS and (call.args or call.keywords):
                pattern, method = (call.args or [call.keywords[0].value])[0], "search"
            elif (method, module.path) in makers.values():
                pattern, method = call.args[0], "compile"
            else:
                continue
            if method == "compile":
                methods = {after} if after else uses.get(name, set())
                searched = not methods or bool(methods & SEARCHES)
            else:
                searched = method in SEARCHES
            try:
                text = module.value(pattern)
                flags = next((int(module.value(f)) for f in _flags(call, function)), 0)
            except Unreadable:
                unread.append(f"{module.path}:{ast.unparse(call)}")
            else:
                found.append(Found(place, text, flags, searched))
    return found, sorted(unread)


def _flags(call: ast.Call, function: str) -> Iterator[ast.expr]:
    """``re.compile(pattern, flags)``; of the others only by its name."""
    if function == "re.compile":
        yield from call.args[1:2]
    yield from (word.value for word in call.keywords if word.arg == "flags")


def _uses() -> dict[str, set[str]]:
    """Name of a compiled expression -> what is called of it, anywhere."""
    uses: dict[str, set[str]] = {}
    for module in modules():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Attribute) and node.attr in METHODS:
                owner = node.value
                name = getattr(owner, "id", "") or getattr(owner, "attr", "")
                uses.setdefault(name, set()).add(node.attr)
    return uses


# --- texts that pump ------------------------------------------------------------------------------


def pumped(pattern: str | bytes, flags: int) -> Iterator[tuple[str, str, str]]:
    """(what leads there, what is repeated, how it ends)."""
    text = pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern
    tree = parser.parse(text, flags & ~re.ASCII)
    leads, bodies = {""}, set[str]()
    _walk(list(tree), "", leads, bodies)
    letters = sorted(set(_letters(list(tree))))[:12]
    pairs = {a + b for a in letters for b in letters} if len(letters) <= 6 else set[str]()
    bodies = set(sorted(bodies)[:12])
    bodies |= set(letters) | pairs | leads | {lead + body for lead in leads for body in bodies}
    ends = ["\0", next(c for c in OTHERS if c not in letters[:6])]
    for lead in sorted(leads)[:6]:
        for body in sorted(bodies - {""}):
            for end in ends:
                yield lead, body, end


def _walk(nodes: list[Any], before: str, leads: set[str], bodies: set[str]) -> str:
    """One text that the nodes match, and on the way what leads to each repeat and is in it."""
    for op, argument in nodes:
        if op in (names.MAX_REPEAT, names.MIN_REPEAT, names.POSSESSIVE_REPEAT):
            low, high, body = argument
            if high > 8:
                leads.add(before)
                bodies.add(_walk(list(body), "", set(), set()))
            once = _walk(list(body), before, leads, bodies)[len(before) :]
            before += once * (low if low < 100 else 1)
        elif op is names.BRANCH:
            ways = [_walk(list(way), before, leads, bodies) for way in argument[1]]
            bodies |= {way[len(before) :] for way in ways}
            before = ways[0]
        elif op is names.SUBPATTERN:
            before = _walk(list(argument[3]), before, leads, bodies)
        elif op is names.ATOMIC_GROUP:
            before = _walk(list(argument), before, leads, bodies)
        elif op in (names.ASSERT, names.ASSERT_NOT):
            _walk(list(argument[1]), before, leads, bodies)
        else:
            before += next(iter(_letters([(op, argument)])), "")
    return before


def _letters(nodes: list[Any]) -> Iterator[str]:
    """Characters that stand for each kind that the nodes tell apart."""
    for op, argument in nodes:
        if op is names.LITERAL:
            yield chr(argument)
        elif op is names.NOT_LITERAL:
            yield next(c for c in OTHERS if ord(c) != argument)
            yield chr(argument)
        elif op is names.ANY:
            yield "a"
        elif op is names.IN:
            yield from _of_class(argument)
        elif op in (names.MAX_REPEAT, names.MIN_REPEAT, names.POSSESSIVE_REPEAT):
            yield from _letters(list(argument[2]))
        elif op is names.BRANCH:
            for way in argument[1]:
                yield from _letters(list(way))
        elif op is names.SUBPATTERN:
            yield from _letters(list(argument[3]))
        elif op is names.ATOMIC_GROUP:
            yield from _letters(list(argument))
        elif op in (names.ASSERT, names.ASSERT_NOT):
            yield from _letters(list(argument[1]))


def _of_class(items: list[Any]) -> Iterator[str]:
    inside = []
    for op, argument in items:
        if op is names.LITERAL:
            inside.append(chr(argument))
        elif op is names.RANGE:
            inside.append(chr(argument[0]))
        elif op is names.CATEGORY:
            inside += CATEGORIES[argument]
    if items[0][0] is names.NEGATE:
        yield next(c for c in OTHERS if c not in inside)
    yield from inside


# --- how long -------------------------------------------------------------------------------------


def slowest(found: Found, most: int = MOST) -> tuple[float, str]:
    """Seconds of the processor that the worst text of up to ``most`` characters takes, and it."""
    compiled = re.compile(found.pattern, found.flags)
    worst = 0.0, ""
    for lead, body, end in islice(pumped(found.pattern, found.flags), TRIES):
        for length in _lengths(most):
            # why again: another process may have had the caches
            for _ in range(3):
                took = _took(compiled, found.searched, lead, body, end, length)
                if took < SLOW_S:
                    break
            if took > worst[0]:
                worst = took, f"{lead!r} + {body!r} * n + {end!r}, {length} characters"
            if took > SLOW_S:
                return worst  # a longer text takes longer
            if length >= MANY and took < QUICK_S:
                break
    return worst


def _lengths(most: int) -> Iterator[int]:
    """Small steps first: what doubles with each character must not take hours at the next one."""
    yield from (20, 23, 26, 30, 35, 40, 46, 53, 61, 70, 150, 400)
    length = MANY
    while length < most:
        yield length
        length *= 2
    yield most


def _took(
    compiled: re.Pattern[Any], searched: bool, lead: str, body: str, end: str, length: int
) -> float:
    text: Any = (lead + body * (length // len(body) + 1))[:length] + end
    if isinstance(compiled.pattern, bytes):
        text = text.encode("latin-1", "replace")
    began = time.process_time()
    if searched:
        for _ in compiled.finditer(text):
            pass
    else:
        compiled.fullmatch(text)
    return time.process_time() - began
