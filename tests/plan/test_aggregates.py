"""Names, types and misuse of the aggregates."""

from __future__ import annotations

import pytest

from penstock.errors import PenstockError
from penstock.plan import aggregates, functions
from penstock.plan.types import BIGINT, BOOLEAN, DOUBLE, INT, INTERVAL, NULL, STRING, TIMESTAMP, Type, array, decimal

WIDE = decimal(38, 18)


@pytest.mark.parametrize(
    ("name", "argument", "result"),
    [
        ("count", None, BIGINT), ("count", STRING, BIGINT), ("COUNT", array(INT), BIGINT),
        ("sum", INT, BIGINT), ("sum", DOUBLE, DOUBLE), ("sum", decimal(10, 2), decimal(20, 2)),
        ("sum", WIDE, WIDE), ("sum", INTERVAL, INTERVAL),
        ("avg", BIGINT, DOUBLE), ("avg", decimal(10, 2), decimal(14, 6)),
        ("mean", WIDE, decimal(38, 22)), ("avg", INTERVAL, INTERVAL),
        ("min", STRING, STRING), ("max", TIMESTAMP, TIMESTAMP),
        ("first", BOOLEAN, BOOLEAN), ("last_value", array(DOUBLE), array(DOUBLE)),
        ("stddev_samp", INT, DOUBLE), ("var_pop", decimal(5, 1), DOUBLE),
        ("sum", NULL, DOUBLE), ("variance", NULL, DOUBLE),
    ],
)  # fmt: skip
def test_types(name: str, argument: Type | None, result: Type) -> None:
    assert aggregates.resolve(name, argument) == result


def test_the_quantile_takes_a_rank() -> None:
    assert aggregates.resolve("approx_percentile", INT, (0.5,)) == DOUBLE


@pytest.mark.parametrize(
    ("name", "argument", "parameters", "distinct", "said"),
    [
        ("sum", STRING, (), False, "sum(string) has no meaning"),
        ("stddev", TIMESTAMP, (), False, "stddev(timestamp) has no meaning"),
        ("avg", BOOLEAN, (), False, "avg(boolean) has no meaning"),
        ("max", None, (), False, "max(*) has no meaning"),
        ("count", None, (), True, "count(distinct *) has no meaning"),
        ("stddev", INT, (), True, "stddev does not take DISTINCT"),
        ("sum", INT, (3,), False, "sum takes 1 argument, not 2"),
        ("approx_quantile", INT, (), False, "approx_quantile takes 2 arguments, not 1"),
        ("approx_quantile", INT, (1.5,), False, "the rank of approx_quantile is 1.5"),
        ("approx_quantile", INT, ("half",), False, "usage: approx_quantile(number, rank from 0 to 1)"),
        ("summ", INT, (), False, "did you mean 'sum'?"),
    ],
)
def test_misuse_is_explained(
    name: str, argument: Type | None, parameters: tuple[object, ...], distinct: bool, said: str
) -> None:
    with pytest.raises(PenstockError) as caught:
        aggregates.resolve(name, argument, parameters, distinct)
    assert said in str(caught.value)


def test_properties() -> None:
    assert aggregates.properties("mean").panes
    assert not aggregates.properties("count", distinct=True).panes
    assert aggregates.properties("max", distinct=True).panes
    assert not aggregates.properties("min").subtractable
    assert aggregates.properties("last").order_sensitive
    assert aggregates.properties("a_users_own").order_sensitive


def test_every_name_resolves_to_a_rule() -> None:
    assert {aggregates.canonical(n) for n in aggregates.NAMES} == set(aggregates.RULES)
    assert all(aggregates.is_aggregate(n) for n in aggregates.NAMES) and not aggregates.is_aggregate("lower")


def test_a_users_aggregate_resolves_to_what_it_returns() -> None:
    @functions.aggregate(returns="bigint", name="spread_in_test")
    class Spread:
        def init(self) -> None:
            self.seen: list[int] = []

        def incr(self, value: int) -> None:
            self.seen.append(value)

        def final(self) -> int:
            return max(self.seen) - min(self.seen)

    assert aggregates.resolve("Spread_In_Test", INT) == BIGINT
    assert aggregates.is_aggregate("spread_in_test")
    with pytest.raises(PenstockError, match="takes one argument"):
        aggregates.resolve("spread_in_test", INT, (1,))
    del functions.user_functions.aggregates["spread_in_test"]
