"""A-Greedy (Babu 4.3): the order that Static Greedy would choose by the latest profile tuples, kept up as they come.

Every entry of the matrix view is kept up with every profile tuple, so a violation of the greedy invariant is seen at
once, and all that is needed to correct it is in the profile window. In steady conditions its order costs at most four
times what the best one does (theorem 4.3.1; 4 / alpha with alpha below 1), and mostly the same.
"""

from __future__ import annotations

from penstock.adapt.ordering import Greedy


class AGreedy(Greedy):
    """Keeps all entries of the view, and corrects a violation as soon as there is one.

    >>> import numpy as np
    >>> from penstock.adapt.ordering import Filters
    >>> from penstock.plan.nodes import Source
    >>> from penstock.plan.schema import Schema
    >>> from penstock.stats.snapshot import FilterProfile
    >>> a_greedy = AGreedy(Filters((0, 0), (1.0, 1.0)), rate=0.01, tuples=100, alpha=0.9)
    >>> node, nothing = Source("s", Schema.parse("a int")), np.zeros(2)
    >>> a_greedy.see(FilterProfile(node, np.full(70, 0b10), 80, nothing, nothing))
    >>> a_greedy.better((0, 1)).order
    (1, 0)
    """
