"""Load shedding by QoS (Tatbul 3.8, 3.9; Babcock et al.): figures 3.11 to 3.14 and 3.18, and what shedding costs.

    python -m benchmarks.figures.shedding_qos 3.11 cost --out benchmarks/out --full

writes shedding-qos-NAME.json, .md and, where matplotlib is installed, .png for each figure named (all by default).
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.figures.reporting import Figure, Row, write_figures
from benchmarks.figures.shedding_battalion import figure_3_18
from benchmarks.figures.shedding_cost import road_map, sampling, statistics_cost
from benchmarks.figures.shedding_thesis import figure_3_11, figure_3_12, figure_3_13, figure_3_14

_GENERATED = (
    "The thesis's networks and curves are lost: ours have 20 queries of filters and unions over 10 streams, costs and "
    "thresholds drawn at random; orderings and shapes are compared. Time is virtual: drops themselves cost nothing."
)
FIGURES = {
    "3.11": Figure(
        "Tatbul, figure 3.11",
        "QoS-driven shedding loses clearly less tuple utility than four admission controls, but for low excess, where "
        "Input-Uniform is near; semantic lies below random by a constant.",
        _GENERATED,
        figure_3_11,
    ),
    "3.12": Figure(
        "Tatbul, figure 3.12", "Semantic shedding loses far less value utility than all others.",
        _GENERATED, figure_3_12,
    ),
    "3.13": Figure(
        "Tatbul, figure 3.13",
        "The value lost by random shedding, in multiples of what semantic loses, rises with the skew of the utilities "
        "and falls with the rate.",
        _GENERATED + " Where a low interval is worth nothing semantic loses almost nothing at low rates; the ratio is "
        "shown from half the load on.",
        figure_3_13,
    ),
    "3.14": Figure(
        "Tatbul, figure 3.14",
        "On a plan that 20 queries share, Input-Uniform loses more than random shedding, the more so the more the "
        "utilities are skewed; at extreme excess both drop at the input and lose the same.",
        "Operators behind the split differ in cost by a tenth from one to the next, so that they are not one operator.",
        figure_3_14,
    ),
    "3.18": Figure(
        "Tatbul, figure 3.18",
        "Battalion monitoring: semantic loses least value, random more, admission control most; all three converge at "
        "very high load.",
        "The scenario's data are not public: units are generated, and the four value functions are ours.",
        figure_3_18,
    ),
    "map": Figure(
        "The road map of 1,140 operators", "A plan is looked up in a table that is made beforehand (3.5).",
        "Costs are drawn at random; wall clock.", road_map,
    ),
    "statistics": Figure(
        "What counting values costs", "Statistics must be light-weight (3.2).",
        "One lane, operators that cost next to nothing, every column of every operator watched: the worst case.",
        statistics_cost,
    ),
    "sampling": Figure(
        "Errors of sampled sums", "A bound on the error holds with probability 1 - delta (Babcock et al., 2).",
        "The formulas of `penstock.plan.estimates` over simulated windows of 1,000 tuples; the same through the engine "
        "is a slow test.",
        sampling,
    ),
}  # fmt: skip
LIMITS = tuple(f"{name}: {figure.limits}" for name, figure in FIGURES.items())


def figures(full: bool, seed: int) -> Iterator[Row]:
    """All of them."""
    for figure in FIGURES.values():
        yield from figure.measure(full, seed)


if __name__ == "__main__":
    write_figures(FIGURES, "shedding-qos", __doc__)
