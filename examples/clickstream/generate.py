"""Visits to a shop as a CSV file: people look at pages, some put things in their cart, a few pay.

    ./penstockw python examples/clickstream/generate.py examples/clickstream
"""

from __future__ import annotations

import csv
import sys
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

START = datetime(2026, 3, 1, 20)
PAGES = 40


def clicks(seed: int = 0, visitors: int = 400) -> list[tuple[datetime, str, str, str, float]]:
    """(instant, visitor, page, action, price), in order; an advert sends a burst of visitors after five minutes."""
    random = np.random.default_rng(seed)
    made = []
    for number in range(visitors):
        burst = number % 3 == 0
        at = random.normal(330, 15) if burst else random.random() * 600
        for _ in range(1 + random.poisson(4)):
            page = min(int(random.pareto(1.2) * 4), PAGES - 1)
            price = 5.0 + page * 2.5
            made.append((at, f"v{number}", f"page{page}", "view", price))
            if random.random() < 0.2:
                made.append((at + 2, f"v{number}", f"page{page}", "cart", price))
                if random.random() < 0.5:
                    made.append((at + 2 + random.random() * 120, f"v{number}", f"page{page}", "pay", price))
            at += random.exponential(15)
    made.sort()
    return [(START + timedelta(milliseconds=round(max(s, 0) * 1e3)), *rest) for s, *rest in made]


def write(folder: Path, seed: int = 0, visitors: int = 400) -> None:
    """Writes clicks.csv."""
    with (folder / "clicks.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("at", "visitor", "page", "action", "price"))
        for at, *rest in clicks(seed, visitors):
            writer.writerow((at.isoformat(" ", "milliseconds"), *rest))


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
