"""Piece-wise linear loss functions: the utility of a query against the share of its answer that is delivered.

Reference: Tatbul, sections 2.1.4 and 3.3 (loss-tolerance QoS); as an objective of the distributed problem it goes
beyond chapter 5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.errors import Diagnostic, PenstockError


@dataclass(frozen=True, slots=True)
class LossFunction:
    """Utility over the delivered share, through `points` of (share from 0 to 1, utility), by rising share.

    >>> LossFunction.parse("100: 1.0, 50: 0.7, 0: 0").utility(0.75)
    0.85
    """

    points: tuple[tuple[float, float], ...]

    @staticmethod
    def parse(text: str) -> LossFunction:
        """A loss function from the `loss` text of a query: percent delivered, a colon, the utility."""
        try:
            pairs = [tuple(float(part) for part in piece.split(":")) for piece in text.split(",")]
            points = tuple(sorted((share / 100.0, utility) for share, utility in pairs))
        except ValueError:
            raise _bad(f"cannot read the loss function '{text}'", "write it like '100: 1.0, 50: 0.7, 0: 0'") from None
        return LossFunction(points).checked()

    def checked(self) -> LossFunction:
        """This function, once it is known to run from 0 to 100 percent, to rise, and to be concave."""
        shares = np.array([share for share, _ in self.points])
        if len(shares) < 2 or shares[0] != 0.0 or shares[-1] != 1.0 or np.any(np.diff(shares) <= 0):
            raise _bad("a loss function must have a point at 0 and one at 100 percent, and no percentage twice")
        slopes = np.diff([utility for _, utility in self.points]) / np.diff(shares)
        if not np.all(np.isfinite(slopes)) or np.any(slopes < 0) or self.points[0][1] < 0:
            raise _bad("a loss function must be finite, at least 0, and may not fall as more is delivered")
        if np.any(np.diff(slopes) > 1e-12 * (1 + slopes.max())):
            raise _bad("a loss function that is not concave has no linear program", "lift it to its concave hull")
        return self

    def utility(self, share: float) -> float:
        """The utility when this share of the answer is delivered."""
        shares, utilities = zip(*self.points, strict=True)
        return float(np.interp(share, shares, utilities))

    def pieces(self) -> tuple[tuple[float, float], ...]:
        """(slope, width) of each linear piece; since the slopes fall, a maximum fills them from the left."""
        pairs = zip(self.points, self.points[1:], strict=False)
        return tuple(((u2 - u1) / (s2 - s1), s2 - s1) for (s1, u1), (s2, u2) in pairs)


def _bad(message: str, help: str | None = None) -> PenstockError:
    return PenstockError(Diagnostic(message, help=help))
