"""One node of D-FIT: it keeps its children's tables, makes its own, tells its parent what changed, and sheds by its
own table.

What keeps it right whatever the network does:

- a table replaces another only if its version is higher; a delta applies only to the very version it was made from,
  otherwise the parent asks for the whole table;
- a child that came back knowing less than its parent remembers of it takes an epoch above the parent's, so its old
  messages, however late, neither replace its new ones nor keep an old table in use;
- the child repeats what was not acknowledged at every tick, so lost messages are made up for;
- a child that has been silent for `silence_s` counts as free, and this node sheds for itself alone; the child
  protects itself, since every node chooses from its own table for the rates that really arrive;
- differences below the tolerance are not sent. A node of height h may leave 2^-(h+4) of it unsent in any score, load
  or capacity, so all levels together, however deep the tree, stay below an eighth: what scores, loads and capacities
  that are an eighth off can cost together, first at the choice and then where children must shed more, stays below
  the whole.

Reference: Tatbul, sections 5.3 (distributed approach), 5.5 and 5.6; versions, silence and tolerance shares are ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from penstock.cluster.fit import Fit, node_fit
from penstock.cluster.fragments import Fragment
from penstock.cluster.local import LocalFlows, LocalPlan, local_flows, local_plan
from penstock.cluster.messages import (
    Ack,
    Beat,
    Message,
    Table,
    Version,
    delta,
    ordered,
    part,
    patched,
    public,
    same_capacities,
    same_shape,
)
from penstock.cluster.mixing import Mixer


@dataclass(frozen=True, slots=True)
class Agreement:
    """What all nodes agree on: shares of score that pruning and unsent changes may cost, and when a neighbour is
    silent.
    """

    epsilon: float = 0.0
    tolerance: float = 0.0
    silence_s: float = 10.0


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """A child's table as this node holds it."""

    version: Version
    table: Fit
    height: int


class Peer:
    """A node of D-FIT. Its methods take the time, change its state, and return the messages to send."""

    def __init__(self, fragment: Fragment, agreement: Agreement, epoch: int = 0, now: float = 0.0) -> None:
        self.agreement, self.epoch = agreement, epoch
        self.held: dict[str, Held] = {}
        self.heard_at: dict[str, float] = {}
        self.reported: dict[str, tuple[Version, Mapping[str, float]]] = {}
        self.images: dict[int, Fit] = {}
        self.acked: int | None = None
        self.sequence = 0
        self.own_rates: Mapping[str, float] = {}
        self._take(fragment, now)

    def _take(self, fragment: Fragment, now: float) -> None:
        self.fragment = fragment
        for neighbour in set(self.held) - set(fragment.downstream):
            del self.held[neighbour]
        self.heard_at = {child: self.heard_at.get(child, now) for child in fragment.downstream}
        self.reported = {child: r for child, r in self.reported.items() if child in fragment.downstream}
        self.flows: LocalFlows = local_flows(fragment)
        self._remake(now)

    def _remake(self, now: float) -> None:
        self.used = self._usable(now)
        children = {child: self.held[child].table for child in self.used}
        self.fit: Fit = node_fit(self.fragment, children, self.agreement.epsilon)
        self.mixer: Mixer = self.fit.mixer()
        self.height = 1 + max((self.held[child].height for child in self.used), default=-1)

    def _usable(self, now: float) -> tuple[str, ...]:
        """The children whose table may be used: held, and heard from lately."""
        limit = now - self.agreement.silence_s
        return tuple(c for c in self.fragment.downstream if c in self.held and self.heard_at[c] >= limit)

    def change(self, fragment: Fragment, now: float) -> list[Message]:
        """Operators moved, costs or selectivities changed, or neighbours joined or left."""
        if fragment.upstream != self.fragment.upstream:
            self.acked = None
            self.images = {}
            self.epoch += 1
        self._take(fragment, now)
        return self.publish()

    def publish(self) -> list[Message]:
        """Tell the parent what changed by more than the tolerance since the table it was last sent."""
        if not self.fragment.upstream:
            return []
        fresh = ordered(public(self.fit))
        number = max(self.images, default=0)
        share = self.agreement.tolerance * 2.0 ** -(self.height + 4)
        if number in self.images and same_shape(self.images[number], fresh):
            changed, forgotten = delta(self.images[number], fresh, share)
            if not len(changed) and not len(forgotten[1]) and same_capacities(self.images[number], fresh, share):
                return []
            fresh = patched(self.images[number], part(fresh, changed), forgotten)
        self.images[number + 1] = fresh
        return self._send()

    def _send(self) -> list[Message]:
        """The newest table for the parent, as a delta where the parent is known to hold something."""
        number = max(self.images)
        fresh = self.images[number]
        base = self.acked if self.acked is not None and same_shape(self.images[self.acked], fresh) else None
        changed, forgotten = np.arange(len(fresh)), (np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.uint64))
        if base is not None:
            changed, forgotten = delta(self.images[base], fresh, 0.0)
        version, since = Version(self.epoch, number), None if base is None else Version(self.epoch, base)
        return [Table(self.fragment.node, parent, version, since, part(fresh, changed), forgotten, self.height)
                for parent in self.fragment.upstream]  # fmt: skip

    def receive(self, message: Message, now: float) -> list[Message]:
        """React to a message of a neighbour; whatever comes from elsewhere is ignored."""
        if isinstance(message, Ack):
            return self._acknowledged(message) if message.sender in self.fragment.upstream else []
        if message.sender not in self.fragment.downstream:
            return []
        if isinstance(message, Table):
            return self._hold(message, now)
        return self._heard(message, now)

    def _hold(self, message: Table, now: float) -> list[Message]:
        """Take a child's table if it is newer and fits what is held."""
        child, held = message.sender, self.held.get(message.sender)
        current = None if held is None else held.version
        if current is None or current < message.version:
            if message.base is None:
                table = ordered(message.changed)
            elif held is not None and message.base == current:
                table = patched(held.table, message.changed, message.forgotten)
            else:
                return [Ack(self.fragment.node, child, current)]
            self.held[child] = Held(message.version, table, message.height)
            self.heard_at[child] = now
            self._remake(now)
            return [Ack(self.fragment.node, child, message.version), *self.publish()]
        return [Ack(self.fragment.node, child, current)]

    def _heard(self, message: Beat, now: float) -> list[Message]:
        """A child lives: note its rates, take its table into use again, and ask for the table if ours is old."""
        child, turn = message.sender, Version(message.version.epoch, message.sequence)
        last, _ = self.reported.get(child, (None, {}))
        if last is not None and not last < turn:
            return [Ack(self.fragment.node, child, Version(last.epoch, 0))] if turn.epoch < last.epoch else []
        self.reported[child] = (turn, message.rates)
        held = self.held.get(child)
        if held is None or held.version < message.version:
            return [Ack(self.fragment.node, child, None if held is None else held.version)]
        self.heard_at[child] = now
        return self._refresh(now)

    def _acknowledged(self, message: Ack) -> list[Message]:
        """The parent says what it holds: forget older images; if it lacks the newest, send that.

        A version that is forgotten here may come late, or from a parent that restarted and was reached by an old table:
        it gets the whole table, which does no harm in the first case.
        """
        version = message.version
        if version is not None and version.epoch > self.epoch:
            self.epoch = version.epoch + 1
        if version is None or version.epoch != self.epoch or version.number not in self.images:
            self.acked = None
        elif self.acked is None or version.number >= self.acked:
            self.acked = version.number
            self.images = {n: image for n, image in self.images.items() if n >= version.number}
        return self._send() if self.images and self.acked is None else []

    def _refresh(self, now: float) -> list[Message]:
        """Remake the table if a child fell silent or came back."""
        if self._usable(now) == self.used:
            return []
        self._remake(now)
        return self.publish()

    def tick(self, now: float) -> list[Message]:
        """What is due from time to time: a sign of life with the rates, and whatever was not acknowledged."""
        due = self._refresh(now)
        self.sequence += 1
        newest = max(self.images, default=0)
        if not due and self.images and newest != self.acked:
            due = self._send()
        version = Version(self.epoch, newest)
        beats = [
            Beat(self.fragment.node, p, version, self.sequence, self.rates_below()) for p in self.fragment.upstream
        ]
        return [*due, *beats]

    def measure(self, rates: Mapping[str, float]) -> None:
        """Take the rates of the outside streams that enter here (load monitoring, section 5.3)."""
        self.own_rates = {name: rates[name] for name in self.fragment.external}

    def rates_below(self) -> dict[str, float]:
        """The rates of all outside streams at or below this node, as far as it was told."""
        told: dict[str, float] = {}
        for _, rates in self.reported.values():
            told |= rates
        return told | dict(self.own_rates)

    def select(self, entering: Mapping[str, float]) -> LocalPlan:
        """This node's plan for the rates that reach it."""
        return local_plan(self.flows, self.fit, self.mixer, entering, self.rates_below())

    def restarted(self, now: float) -> Peer:
        """The same node after a crash: it remembers nothing but its fragment, and that it restarted."""
        return Peer(replace(self.fragment), self.agreement, self.epoch + 1, now)
