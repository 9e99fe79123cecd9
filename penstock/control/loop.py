"""The loop of StreaMon (Babu 3): the executor reports, strategies propose, the gate decides, the executor adopts.

Everything here is a function of the snapshots: clocks and randomness are arguments. An engine calls `step` once a
control period (in process after every batch, on Spark after every micro-batch) and adopts the plan that it returns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, cast

from penstock.control.accounts import Accounts
from penstock.control.coming import Coming
from penstock.control.gains import Gain, Ledger
from penstock.plan.proposal import Proposal as Proposal
from penstock.plan.running import Plan, Reorder, SetDrops, ShutDown
from penstock.stats.signals import Signals
from penstock.stats.snapshot import Snapshot


class Strategy(Protocol):
    """Looks at what was measured and proposes changes; on an unchanged snapshot it proposes none."""

    @property
    def name(self) -> str:
        """What it is called in the log."""

    def propose(self, plan: Plan, snapshot: Snapshot) -> Sequence[Proposal]:
        """The changes to make now, the most urgent first."""


class Foresight(Protocol):
    """A strategy that also decides for a batch before it is let in."""

    @property
    def name(self) -> str:
        """What it is called in the log."""

    def foresee(self, plan: Plan, coming: Coming) -> Sequence[Proposal]:
        """The changes to make before the batch that waits at the gate."""


class Gate(Protocol):
    """Accepts or refuses proposals, so that small gains and noise do not make the plan restless."""

    def judge(self, strategy: str, proposal: Proposal, snapshot: Snapshot) -> str | None:
        """None where the proposal passes, else why not."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One proposal and what became of it: `refused` is why not, None where it was made; `plan` is the number of the
    plan after it."""

    snapshot: int
    strategy: str
    proposal: Proposal
    refused: str | None
    plan: int


MODES: Final = ("off", "monitor", "on")
"""Shedding off: nothing is dropped and nothing decided; monitor: decided and reported, nothing dropped; on."""


class Open:
    """The gate that lets everything pass."""

    def judge(self, strategy: str, proposal: Proposal, snapshot: Snapshot) -> str | None:
        """Passes."""
        return None


@dataclass(slots=True)
class Loop:
    """`plan` is the one in force; `log` has every snapshot, decision and measured gain in order: the only input of
    whoever shows them. `mode` says whether anything is shed (see `MODES`), and may be switched at any time."""

    plan: Plan
    strategies: Sequence[Strategy]
    gate: Gate = field(default_factory=Open)
    log: list[Snapshot | Decision | Gain] = field(default_factory=list)
    mode: str = "on"
    ledger: Ledger = field(default_factory=Ledger)
    signals: Signals = field(default_factory=Signals)
    accounts: Accounts = field(init=False)

    def __post_init__(self) -> None:
        self.accounts = Accounts(self.plan.network)

    def accounted(self, snapshot: Snapshot) -> Snapshot:
        """`snapshot` with the account of its period, and with what the practical signals say; to be asked once for
        each."""
        return self.signals.given(self.accounts.given(snapshot))

    def step(self, snapshot: Snapshot) -> Plan:
        """The plan to run from now on."""
        snapshot = snapshot if snapshot.accounts or not snapshot.operators else self.accounted(snapshot)
        self.log.append(snapshot)
        self.log.extend(self.ledger.see(snapshot))
        if self.mode != "on" and (self.plan.drops or self.plan.shut_down):
            self.plan = self.plan.apply(SetDrops(()), ShutDown(()))
        for strategy in self.strategies:
            for proposal in strategy.propose(self.plan, snapshot):
                self._judge(strategy.name, proposal, snapshot)
        return self.plan

    def foresee(self, coming: Coming, snapshot: Snapshot) -> Plan:
        """The plan for the batch that waits at the gate, `snapshot` being the last one."""
        for strategy in self.strategies:
            if hasattr(strategy, "foresee"):
                for proposal in cast(Foresight, strategy).foresee(self.plan, coming):
                    self._judge(strategy.name, proposal, snapshot)
        return self.plan

    def _judge(self, strategy: str, proposal: Proposal, snapshot: Snapshot) -> None:
        sheds = isinstance(proposal.change, SetDrops | ShutDown)
        if sheds and self.mode == "off":
            return
        refused = self.gate.judge(strategy, proposal, snapshot)
        if sheds and self.mode == "monitor":
            refused = refused or "shedding is watched only"
        if refused is None:
            self.plan = self.plan.apply(proposal.change)
            if isinstance(proposal.change, Reorder) and proposal.gain is not None:
                self.ledger.changed(proposal.change.filter, self.plan.number, strategy, proposal.gain, snapshot)
        self.log.append(Decision(snapshot.number, strategy, proposal, refused, self.plan.number))
