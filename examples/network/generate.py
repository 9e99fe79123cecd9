"""Flows of a small office as a CSV file: ordinary traffic, one address that scans ports, one that sends far too much.

    ./penstockw python examples/network/generate.py examples/network
"""

from __future__ import annotations

import csv
import sys
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

START = datetime(2026, 3, 1, 9)
MINUTES = 10
SCANNER, SENDER = "10.0.3.99", "10.0.2.17"
PORTS = (443, 443, 443, 80, 53, 53, 22, 8080)


def flows(seed: int = 0, per_minute: int = 600) -> list[tuple[datetime, str, str, int, int]]:
    """(start, source, destination, port, bytes), in order; a scan in minute 4, a heavy sender from minute 6."""
    random = np.random.default_rng(seed)
    made = []
    for minute in range(MINUTES):
        for second in np.sort(random.random(per_minute) * 60):
            source = f"10.0.{random.integers(1, 4)}.{random.integers(1, 40)}"
            target = f"192.0.2.{random.integers(1, 60)}"
            made.append((minute * 60 + second, source, target, PORTS[random.integers(len(PORTS))],
                         int(random.lognormal(7, 1.2))))  # fmt: skip
        if minute == 4:
            made += [(minute * 60 + 20 + i / 20, SCANNER, "192.0.2.7", 1000 + i, 60) for i in range(200)]
        if minute >= 6:
            made += [(minute * 60 + i / 2, SENDER, "203.0.113.5", 443, 90_000) for i in range(120)]
    made.sort()
    return [(START + timedelta(microseconds=round(s * 1e6)), *rest) for s, *rest in made]


def write(folder: Path, seed: int = 0, per_minute: int = 600) -> None:
    """Writes flows.csv and hosts.csv."""
    with (folder / "flows.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("ts", "src", "dst", "port", "bytes"))
        for ts, *rest in flows(seed, per_minute):
            writer.writerow((ts.isoformat(" ", "microseconds"), *rest))
    with (folder / "hosts.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("addr", "role"))
        for net in (1, 2, 3):
            writer.writerows((f"10.0.{net}.{host}", "server" if host < 5 else "desk") for host in range(1, 40))


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
