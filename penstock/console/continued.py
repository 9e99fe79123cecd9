"""Which network a run takes: its script's, or the one that its checkpoint has."""

from __future__ import annotations

from penstock.cql import compile_script
from penstock.errors import Diagnostic, PenstockError
from penstock.plan.network import Network


def network_of(text: str | None, source: str, checkpoint: str, continued: bool) -> Network:
    """The network of the script `text` (None: none was given); `continued` asks for a run to continue."""
    if continued:
        from penstock.spark.recovery import kept_network

        kept = kept_network(checkpoint)
        return kept if text is None else compile_script(text, source)
    if text is None:
        help_ = "name one, or continue a run with --from-checkpoint"
        raise PenstockError(Diagnostic("there is no script to run", help=help_))
    return compile_script(text, source)
