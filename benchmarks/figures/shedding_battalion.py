"""Battalion monitoring: figure 3.18 of Tatbul's thesis (3.9), with generated units that cross the line.

Two reconnaissance streams of positions are united for four queries: analysis of all units, enemy tanks, enemy
aircraft, and what is across the demarcation line at x = 350. Friendly units stay on [0, 350); enemies begin on
[350, 500] and move towards them, so that by the end many have crossed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from benchmarks.figures.reporting import Row, at_most, row
from benchmarks.figures.shedding_runs import Losses, Stage
from benchmarks.figures.shedding_thesis import CHECKED, mean
from penstock.cql import compile_script
from penstock.operators.columns.vector import Array
from penstock.plan.network import Network
from penstock.plan.node import Node, rewrite
from penstock.plan.nodes import Delay, Union
from penstock.plan.rewrites import optimize

LINE: Final = 350.0
SCRIPT: Final = """
CREATE STREAM north (x DOUBLE, unit INT);
CREATE STREAM south (x DOUBLE, unit INT);
CREATE VIEW units AS SELECT x, unit FROM north UNION ALL SELECT x, unit FROM south;
CREATE QUERY analysis WITH (value = 'x: 0..350 = 0.5, 350..501 = 0.2') AS SELECT x, unit FROM units;
CREATE QUERY tanks WITH (value = 'x: 0..350 = 1, 350..501 = 0.3') AS
    SELECT x, unit FROM units WHERE unit >= 1000 AND unit < 2000;
CREATE QUERY aircraft WITH (value = 'x: 0..350 = 1, 350..501 = 0.4') AS
    SELECT x, unit FROM units WHERE unit >= 2000;
CREATE QUERY across WITH (value = 'x: 0..150 = 0.2, 150..350 = 1') AS SELECT x, unit FROM units WHERE x < 350;
"""
EXCESS: Final = (0.1, 0.25, 0.4, 0.55, 0.7, 0.85, 0.98)
POLICIES: Final = ("semantic", "random", "input-uniform")


def battle(rows: int, random: np.random.Generator) -> Sequence[Array]:
    """Reports of friendly units (below 1000) and of enemies, which move as time goes on."""
    unit = np.where(random.random(rows) < 0.4, random.integers(0, 200, rows), random.integers(1000, 3000, rows))
    gone = np.arange(rows) / rows
    enemy = 500 - random.random(rows) * 150 - gone * random.random(rows) * 250
    friendly = random.random(rows) * LINE
    return [np.where(unit < 1000, friendly, np.maximum(enemy, 0.0)), unit.astype(np.int64)]


def network() -> Network:
    """The four queries over one union."""
    return optimize(compile_script(SCRIPT))


def stage(seed: int, rows: int) -> Stage:
    """A battle."""
    random = np.random.default_rng(seed)
    columns: Mapping[str, Sequence[Array]] = {name: battle(rows, random) for name in ("north", "south")}
    return Stage(costly(network()), columns)


def costly(plain: Network) -> Network:
    """The network with a delay box behind the union, which all queries share, and one at the end of each."""
    def boxed(node: Node) -> Node:
        return Delay(node, 1e-5) if isinstance(node, Union) else node

    roots = {q.name: rewrite(q.root, boxed) for q in plain.queries}
    ends = {name: Delay(root, (1 + i / 10) * 2e-5) for i, (name, root) in enumerate(roots.items())}
    return replace(plain, queries=tuple(replace(q, root=ends[q.name]) for q in plain.queries))


def figure_3_18(full: bool, seed: int) -> list[Row]:
    """Value utility lost by semantic and random shedding and by admission control."""
    stages = [stage(seed + k, 8000 if full else 4000) for k in range(4 if full else 2)]
    found: dict[str, list[Losses]] = {
        p: [mean([s.shed(s.network, p, e, seed) for s in stages]) for e in EXCESS] for p in POLICIES
    }
    rows = [row(f"figure 3.18 {p}, {e:.0%} must go", at.values, "% value lost")
            for p, curve in found.items() for e, at in zip(EXCESS, curve, strict=True)]  # fmt: skip
    semantic, random, admission = ([at.values for at in found[p]] for p in POLICIES)
    apart = [_spread(semantic, random, admission, i) for i in range(len(EXCESS))]
    return [
        *rows,
        at_most("figure 3.18 semantic beyond random, at worst", _over(semantic, random), "points", 0.5, CHECKED),
        at_most("figure 3.18 random beyond admission, at worst", _over(random, admission), "points", 2.0, CHECKED),
        at_most("figure 3.18 all three apart at the highest load, of the most before", apart[-1] / max(apart), "times",
                0.5, CHECKED),
    ]  # fmt: skip


def _over(ours: Sequence[float], other: Sequence[float]) -> float:
    return max(a - b for a, b in zip(ours, other, strict=True))


def _spread(a: Sequence[float], b: Sequence[float], c: Sequence[float], i: int) -> float:
    return max(a[i], b[i], c[i]) - min(a[i], b[i], c[i])
