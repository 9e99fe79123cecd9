"""Figures 4.11 to 4.24 and table 4.2 of Babu's thesis: measured in the real lane engine and on Spark, drawn, and told
beside the paper's own.

    python -m benchmarks.figures.filters overhead adaptivity --out benchmarks/out --full

writes filters-NAME.json, .md and, where matplotlib is installed, .png for each part named (all by default), and for
each figure of the thesis the curves or bars that it shows, as filters-figure-4.11.svg and so on, in benchmarks/out.
"""

from __future__ import annotations

from benchmarks.figures import (
    filters_adaptivity,
    filters_convergence,
    filters_overhead,
    filters_sampling,
    filters_shared,
    filters_spark,
)
from benchmarks.figures.reporting import Figure, write_figures

LANE = (
    "A probe is a look-up in a hash index of 10,000 keys, 5 to 10 ns here and about 1 us in the paper; the loop's own "
    "time, some 0.3 ms a control period, is told against periods of 20 to 60 ms. Windows are filled before and stand "
    "still while the stream is filtered. "
)

FIGURES = {
    "overhead": Figure(
        "Babu, table 4.2 and figures 4.15 to 4.18: overhead",
        "A-Greedy: 1.23% and 5.83% for n = 3, 3.38% and 15.23% for n = 8, at p = 0.01 and 0.05; Sweep and LocalSwaps "
        "less, and ahead of it the more filters there are; about 25% for c = 100.",
        LANE + "The overhead is what rounds take longer than rounds in the same order without profiling.",
        lambda full, seed: list(filters_overhead.figures(full, seed)),
    ),
    "convergence": Figure(
        "Babu, figures 4.11 to 4.14: processing rates in steady conditions",
        "A-Greedy is above Independent throughout, more so with more filters, at intermediate selectivities and "
        "correlations; near Optimal for small n.",
        LANE,
        lambda full, seed: list(filters_convergence.figures(full, seed)),
    ),
    "adaptivity": Figure(
        "Babu, figures 4.19 to 4.24: after a change, and where changes go on",
        "A-Greedy has the new order at once, LocalSwaps and Sweep later. With a change every 100,000 tuples A-Greedy "
        "is ahead of Sweep, with one every 1,000,000 Sweep is.",
        LANE + "The y-axis is the cost of the order in force over the best one's, not probes counted.",
        lambda full, seed: list(filters_adaptivity.figures(full, seed)),
    ),
    "sampling": Figure(
        "Profiling runs of rows against sampling single ones",
        "Nothing: it profiles single tuples.",
        LANE,
        lambda full, seed: list(filters_sampling.figures(full, seed)),
    ),
    "shared": Figure(
        "One order for the filters of a hundred queries",
        "Nothing: it orders the filters of one query.",
        "One lane in process; on several lanes and on Spark every query orders its own.",
        lambda full, seed: list(filters_shared.figures(full, seed)),
    ),
    "spark": Figure(
        "Filters at Spark's gate",
        "Nothing of Spark.",
        "Throughput is of batches through gate, lanes and commit, from rows in memory; the oracle is the best static "
        "order of each phase, measured the same way.",
        lambda full, seed: list(filters_spark.figures(full, seed)),
    ),
}

if __name__ == "__main__":
    write_figures(FIGURES, "filters", __doc__)
