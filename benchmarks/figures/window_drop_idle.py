"""What a window drop costs that drops nothing: table 4.4 of Tatbul's thesis, on the wall clock, both sides in turn."""

from __future__ import annotations

import math
import time
from statistics import mean, stdev

import numpy as np

from benchmarks.figures.reporting import Row, row
from benchmarks.figures.window_drop_runs import BATCH, SENSOR, count
from penstock.lane.runtime import Lane
from penstock.operators.columns.train import Train
from penstock.operators.columns.vector import Vector
from penstock.plan.drops import Location, WindowDrop
from penstock.plan.expressions import Column, Literal
from penstock.plan.functions import call
from penstock.plan.network import Network, Query
from penstock.plan.nodes import Filter
from penstock.plan.running import Plan
from penstock.plan.types import INT

SIZES = (25, 50, 75, 100)
BAR = 0.96
ROWS = 20_000
"""Readings a train."""


def table_4_4(full: bool, seed: int) -> list[Row]:
    """Throughput with an idle window drop, in parts of that without; for a drop that decides, without a bar."""
    blocks = 40 if full else 16
    rows = []
    for selectivity in (1.0, 0.5):
        for size in SIZES:
            for name, rate, bar in (("idle", 0.0, BAR), ("deciding", 1e-6, None)):
                ratio, half = _ratio(size, selectivity, rate, blocks, seed)
                told = f"table 4.4: {name}, windows of {size}, selectivity {selectivity}"
                holds = bar is None or ratio + half >= bar
                rows.append(row(told, ratio, "ratio", half, bar, holds, "the same results on both sides"))
    return rows


def _lane(size: int, selectivity: float, rate: float | None, seed: int) -> Lane:
    passing = call("<", Column("value", INT), Literal(round(100 * selectivity), INT))
    network = Network(queries=(Query("q", count(Filter(SENSOR, passing), size, size)),))
    lane = Lane(network, optimized=False)
    if rate is not None:
        lane.adopt(Plan(network, drops=((Location(SENSOR), WindowDrop(size, size, rate, BATCH, (), 0, seed)),)))
    return lane


def _ratio(size: int, selectivity: float, rate: float, blocks: int, seed: int) -> tuple[float, float]:
    """Throughput with the drop in parts of that without, and the half-width of its 95% interval over pairs of
    blocks."""
    sides = [_lane(size, selectivity, None, seed), _lane(size, selectivity, rate, seed)]
    values = Vector(np.random.default_rng(seed).integers(0, 100, ROWS))
    logs = []
    counted = [0, 0]
    for block in range(blocks + 2):
        spent = [0.0, 0.0]
        for i in range(block * 10, block * 10 + 10):
            for side in (0, 1) if i % 2 else (1, 0):
                spent[side] += _push(sides[side], Train([values], i * ROWS + np.arange(ROWS)), (i + 1) * ROWS)
                counted[side] += sum(map(len, sides[side].take("q")))
        if block >= 2:
            logs.append(math.log(spent[0] / spent[1]))
    if counted[0] != counted[1]:
        raise AssertionError("a window drop that drops nothing changed the results")
    middle = math.exp(mean(logs))
    return middle, middle * 1.96 * stdev(logs) / math.sqrt(len(logs))


def _push(lane: Lane, train: Train, progress: int) -> float:
    started = time.process_time()
    lane.push(SENSOR.name, train, progress)
    lane.run()
    return time.process_time() - started
