"""Figures 5.12 to 5.17 and table 5.5 of Tatbul's thesis: measured, drawn, and told beside the thesis' own.

    python -m benchmarks.figures.distributed 5.12 table-5.5 --out benchmarks/out --full

writes distributed-NAME.json, .md and, where matplotlib is installed, .png for each figure named (all by default).
"""

from __future__ import annotations

from benchmarks.distributed import FIGURES
from benchmarks.figures.reporting import write_figures

if __name__ == "__main__":
    write_figures(FIGURES, "distributed", __doc__)
