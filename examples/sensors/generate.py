"""Readings of machines as a CSV file: temperatures that wander, one that overheats, one that falls silent.

    ./penstockw python examples/sensors/generate.py examples/sensors
"""

from __future__ import annotations

import csv
import sys
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

START = datetime(2026, 3, 1, 6)
HOT, SILENT = "m03", "m07"


def readings(seed: int = 0, machines: int = 12, seconds: int = 600) -> list[tuple[datetime, str, float, float]]:
    """(instant, machine, temperature, vibration), one a machine and second; some come late by up to two seconds."""
    random = np.random.default_rng(seed)
    made = []
    for number in range(machines):
        machine, level = f"m{number:02}", 60.0
        for second in range(seconds):
            level += random.normal(0, 0.2) + (60 - level) * 0.02
            heat = max(0, second - 300) * 0.15 if machine == HOT else 0.0
            if machine == SILENT and second > 400:
                break
            late = random.random() * 2 if random.random() < 0.05 else 0.0
            made.append((second + late, second, machine, round(level + heat, 2), round(abs(random.normal(1, 0.3)), 3)))
    made.sort()
    return [(START + timedelta(seconds=second), *rest) for _, second, *rest in made]


def write(folder: Path, seed: int = 0, machines: int = 12, seconds: int = 600) -> None:
    """Writes readings.csv, in the order of arrival, and limits.csv."""
    with (folder / "readings.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("ts", "machine", "celsius", "vibration"))
        for ts, *rest in readings(seed, machines, seconds):
            writer.writerow((ts.isoformat(" "), *rest))
    with (folder / "limits.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("machine", "celsius"))
        writer.writerows((f"m{number:02}", 75.0 + number % 3 * 5) for number in range(machines))


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
