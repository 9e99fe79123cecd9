"""What the thesis' figures 5.12 to 5.17 and table 5.5 show, in its words and numbers, to stand beside ours."""

from __future__ import annotations

THESIS = {
    "5.12": "C-FIT generates plans with the same 5% guarantee in significantly shorter time than Solver "
    "(logarithmic axis); Solver is more sensitive to imbalance. Solver at 5% has an expected error of "
    "about 1.44%, which Solver-W reaches in much shorter time.",
    "5.13": "Plan generation of Solver-W takes longer as lambda and imbalance rise, and less as the system is "
    "provisioned better, from (64,32) at about 20% over (56,28) and (48,24).",
    "5.14": "Brightness maps of the joint exponential distribution: the probable area moves up as lambda rises.",
    "5.15": "Solver is slightly faster at fan-out 2; C-FIT is faster at higher fan-outs (epsilon 1%).",
    "5.16": "The expected error converges in time, more slowly with more inputs; C-FIT needs about an hour for 8 "
    "inputs at 10%.",
    "5.17": "Fewer entries as epsilon or load rises; more entries to send for larger changes and for smaller "
    "allowed differences; after a full reversal (24 units) never below 8%.",
    "table-5.5": "46, 984 and 42,472 entries of 52, 96 and 184 bytes for 2, 4 and 8 inputs at 10%.",
}

LIMITS = {
    "5.12": "Only (64,32) is in the thesis' text; the other cost pairs are ours, with the same total. The unit of"
    " lambda is ours, chosen so that Solver's expected error is near the thesis'. HiGHS through SciPy "
    "spends about a millisecond per program on the way in and out, which weighs on Solver alone; the "
    "counts of programs do not depend on it. Where the two queries cost the same, Solver's division is "
    "already near its best and Solver-W saves little.",
    "5.13": "The trace is another one than the thesis' (requests per minute of a web site), scaled to a provision"
    " of 20% at (64,32). Past the lambda at which most of the workload lies beyond all rate limits, fewer"
    " regions matter and generation gets cheaper again.",
    "5.14": "Shares of the workload that are feasible stand in for the brightness of the maps.",
    "5.15": "Our C-FIT keeps a chain of useful sets of branches instead of a grid of points, so it is ahead from "
    "fan-out 2 on, where the thesis' was not. Solver has one input here, so its division is a line.",
    "5.16": "Solver's division of 8 inputs does not close at 10% in the time given: what it leaves open is solved"
    " when it is asked for, and the share of such selections is reported. C-FIT's rows are exact without "
    "splits, so its gap is rounding.",
    "5.17": "The thesis does not define the difference threshold exactly; ours is in `points.changed_share`. With"
    " it, a large enough difference needs few entries even after a reversal, so the floor of 8% does not "
    "show in points. In our own protocol a reversal replaces the whole table, and a change of one query "
    "one row.",
    "table-5.5": "The query loads are lost. With both servers alike the counts are those of all combinations whose "
    "tenths sum to one; the network of figure 5.1 gives the thesis' 46 exactly. The thesis' spreads do "
    "not keep epsilon on several inputs: the worst gap is listed.",
}
