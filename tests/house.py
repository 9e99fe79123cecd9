"""The house rules that code can check: which room imports which, how long a file gets, what a file does not say."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_GROUND = ("errors", "settings")
_CORE = (*_GROUND, "plan", "operators", "cql", "stats", "lane")
_CHOOSERS = ("adapt", "shed", "cluster")
_ENGINE = (*_CORE, *_CHOOSERS, "control", "spark")

# What each room of penstock/ may import besides itself. A room that is not listed is a mistake; `api` is __init__.py.
MAY_IMPORT: Mapping[str, tuple[str, ...]] = {
    "errors": (),
    "settings": ("errors",),
    "plan": _GROUND,
    "operators": (*_GROUND, "plan"),
    "cql": (*_GROUND, "plan"),
    "stats": (*_GROUND, "plan"),
    "lane": (*_GROUND, "plan", "operators", "cql", "stats"),
    **dict.fromkeys(_CHOOSERS, (*_GROUND, "plan", "stats")),
    "control": (*_GROUND, "plan", "stats", *_CHOOSERS),
    "spark": (*_CORE, *_CHOOSERS, "control"),
    "testing": _ENGINE,
    "boxes": _CORE,
    "app": (*_ENGINE, "boxes"),
    "api": (*_ENGINE, "boxes", "app", "testing"),
    "console": (*_ENGINE, "boxes", "app", "testing", "api"),
    "__main__": ("console",),
}
# Imported only inside functions by whoever stands above it: `check` and `explain` run without it.
LAZY = "spark"
# Top-level modules with one room that may import them.
ONLY_IN = {"pyspark": "spark", "benchmarks": "console"}
NEVER = ("tests", "examples")

MAX_LINES = 400
_SAID = re.compile(
    "|".join(
        [
            r"\b(?:TO" + "DO|FIX" + "ME|XX" + "X|HA" + "CK)" + r"\b",
            "NotImplemented" + "Error",
            r"^(?:<{7}|>{7})(?:\s|$)",
            r"(?<![\w.])/(?:work|root|home/\w+|tmp/\w+|Users/\w+)/",
        ]
    ),
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Import:
    """One import: the full name of what is imported, where, and whether only when a function runs."""

    name: str
    line: int
    lazy: bool

    @property
    def top(self) -> str:
        return self.name.split(".")[0]

    def room(self, rooms: frozenset[str]) -> str:
        """The room of penstock/ that is imported: `penstock.Thing` comes from __init__.py."""
        part = [*self.name.split("."), ""][1]
        return part if part in rooms else "api"


def imports(source: str, module: str, *, package: bool = False) -> Iterator[Import]:
    """Every import in `source`, relative ones resolved against `module`.

    >>> [i.name for i in imports("from ..plan import nodes", "penstock.lane.run")]
    ['penstock.plan.nodes']
    """
    home = module.split(".") if package else module.split(".")[:-1]
    yield from _walk(ast.parse(source), home, lazy=False)


def _walk(node: ast.AST, home: list[str], lazy: bool) -> Iterator[Import]:
    for name in _names(node, home):
        yield Import(name, getattr(node, "lineno", 0), lazy)
    inside = lazy or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) or _for_types(node)
    for child in ast.iter_child_nodes(node):
        yield from _walk(child, home, inside)


def _for_types(node: ast.AST) -> bool:
    """`if TYPE_CHECKING:` is never true when code runs."""
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _names(node: ast.AST, home: list[str]) -> list[str]:
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case ast.ImportFrom(module=module, names=names, level=level):
            base = home[: len(home) - level + 1] if level else []
            return [".".join([*base, *([module] if module else []), alias.name]) for alias in names]
        case ast.Call(func=function, args=[ast.Constant(value=str(name)), *_]) if _called(function) in _IMPORTERS:
            return [name]
    return []


_IMPORTERS = ("import_module", "__import__")


def _called(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def modules(root: Path) -> dict[str, Path]:
    """Every module of root/penstock by its dotted name."""
    return {_dotted(path.relative_to(root)): path for path in sorted((root / "penstock").rglob("*.py"))}


def _dotted(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def wrong_imports(root: Path) -> list[str]:
    """Each import that goes against MAY_IMPORT, as a line that says where and why."""
    return [
        f"{path.relative_to(root)}:{found.line}: {why}"
        for module, path in modules(root).items()
        for found in imports(path.read_text("utf-8"), module, package=path.name == "__init__.py")
        if (why := _objection(_room_of(module), found, frozenset(MAY_IMPORT)))
    ]


def _room_of(module: str) -> str:
    return [*module.split("."), "api"][1]


def _objection(room: str, found: Import, rooms: frozenset[str]) -> str | None:
    if room not in rooms:
        return f"penstock/{room} is no room of the house"
    if found.top in NEVER or ONLY_IN.get(found.top, room) != room:
        return f"{room} imports {found.top}"
    if found.top != "penstock" or found.room(rooms) == room:
        return None
    target = found.room(rooms)
    if target not in MAY_IMPORT[room]:
        return f"{room} imports {target} ({found.name})"
    if target == LAZY and not found.lazy:
        return f"{room} imports {target} when it is loaded, not when it is used"
    return None


def too_long(root: Path) -> list[str]:
    """Modules of more than MAX_LINES lines: by then a file holds two ideas."""
    lengths = {str(p.relative_to(root)): len(p.read_text("utf-8").splitlines()) for p in modules(root).values()}
    return [f"{path}: {n} lines" for path, n in lengths.items() if n > MAX_LINES]


def forbidden(root: Path) -> list[str]:
    """Places where a file of ours has an unfinished mark, an unresolved merge, or a path of somebody's machine."""
    return [
        f"{path.relative_to(root)}:{text.count(chr(10), 0, found.start()) + 1}: {found.group()}"
        for path in _texts(root)
        for text in [path.read_text("utf-8", errors="replace")]
        for found in _SAID.finditer(text)
    ]


_FOLDERS = ("penstock", "tests", "benchmarks", "examples", "docs", "locks", ".ci")
_TEXT = {"", ".py", ".md", ".toml", ".txt", ".yml", ".yaml", ".cql", ".sh", ".json", ".typed"}


def _texts(root: Path) -> Iterator[Path]:
    inside = (path for folder in _FOLDERS for path in (root / folder).rglob("*"))
    for path in sorted([*root.iterdir(), *inside]):
        if path.is_file() and path.suffix in _TEXT and path.name != ".git" and "__pycache__" not in path.parts:
            yield path
