"""The best mix of a table's rows for given rates: plan selection from a feasible input table.

Maximise the score of weights theta >= 0 (tuples per second that follow each row), where the rows of a stream use at
most its rate and no node exceeds its capacity. We start from each stream's best row at its full rate; the free
variables are the tuples dropped per stream and the weights of all other rows, so that the dual method of `pivots`
walks from the best score down to the first mix that fits.

Reference: Tatbul, section 5.6 (plan selection); mixes of rows in place of single entries are ours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.cluster.flows import Floats
from penstock.cluster.lp import maximum
from penstock.cluster.pivots import Dictionary, dictionary, minimise_loss
from penstock.cluster.selecting import filling_rates


@dataclass(frozen=True, slots=True, eq=False)
class Mixer:
    """A table's dictionary; `places[k]` is where the weight of row k stands among the solution's values. No mix that
    fits brings more out of a stream than out of `tops` tuples per second.
    """

    tableau: Dictionary
    places: NDArray[np.intp]
    tops: Floats
    scores: Floats
    loads: Floats
    stream_of: NDArray[np.intp]
    capacities: Floats

    def mix(self, rates: Floats) -> Floats:
        """The weights of the rows in the best mix at `rates`.

        >>> table = mixer(np.array([2.0, 1.0]), np.array([[8.0], [3.0]]), np.array([0, 0]), np.array([1.0]), 1)
        >>> table.mix(np.array([0.2])).round(3).tolist()        # figure 5.9: 40% keep both branches, 60% only the first
        [0.08, 0.12]
        """
        given = np.minimum(rates, self.tops)
        values, _, certain = minimise_loss(self.tableau, given)
        return values[self.places] if certain else self._by_highs(given)

    def _by_highs(self, rates: Floats) -> Floats:
        """The same by HiGHS, where pivots lose their way; each weight counted in the most that it can be."""
        most = np.minimum(_limits(self.loads, self.capacities), rates[self.stream_of])
        size = np.where(self.capacities > 0, self.capacities, 1.0)
        shared = np.equal.outer(np.arange(len(rates)), self.stream_of) * most
        rows = np.vstack([self.loads.T * most / size[:, None], shared / np.where(rates > 0, rates, 1.0)[:, None]])
        worth = float((self.scores * most).max()) or 1.0
        best, _ = maximum(self.scores * most / worth, rows, np.ones(len(rows)))
        return best * most


def mixer(scores: Floats, loads: Floats, stream_of: NDArray[np.intp], capacities: Floats, streams: int) -> Mixer:
    """The mixer of rows of `streams` streams; every stream has at least one row."""
    order = np.lexsort((-loads.sum(axis=1), -scores, stream_of))
    _, first = np.unique(stream_of[order], return_index=True)
    base = order[first]
    others = np.setdiff1d(np.arange(len(scores)), base)
    home = base[stream_of[others]]
    loading = np.hstack([-loads[base].T, (loads[others] - loads[home]).T])
    using = np.hstack([np.eye(streams), np.eye(streams)[:, stream_of[others]]])
    cost = np.concatenate([scores[base], scores[home] - scores[others]])
    sloped = np.vstack([-loads[base].T, np.eye(streams)])
    unit = filling_rates(np.vstack([loads[base], loads[others]]).T, capacities)
    fixed = np.concatenate([capacities, np.zeros(streams)])
    places = np.empty(len(scores), dtype=np.intp)
    places[others] = streams + np.arange(len(others))
    places[base] = streams + len(others) + len(capacities) + np.arange(streams)
    tableau = dictionary(np.vstack([loading, using]), cost, fixed, sloped, unit)
    tops = _tops(scores, loads, stream_of, capacities, streams)
    return Mixer(tableau, places, tops, scores, loads, stream_of, capacities)


def _limits(loads: Floats, capacities: Floats) -> Floats:
    """Per row, the rate at which it fills the first node on its own."""
    filling = np.divide(capacities, loads, out=np.full_like(loads, np.inf), where=loads > 0)
    return np.asarray(filling.min(axis=1, initial=np.inf))


def _tops(scores: Floats, loads: Floats, stream_of: NDArray[np.intp], capacities: Floats, streams: int) -> Floats:
    """Per stream, the sum over nodes of the highest rate limit among the useful rows that fill this node first."""
    filling = np.divide(capacities, loads, out=np.full_like(loads, np.inf), where=loads > 0)
    limits, first = _limits(loads, capacities), filling.argmin(axis=1)
    tops = np.zeros((streams, len(capacities)))
    useful = (scores > 0) | ~np.isin(stream_of, stream_of[scores > 0])
    np.maximum.at(tops, (stream_of[useful], first[useful]), limits[useful])
    return np.asarray(tops.sum(axis=1))
