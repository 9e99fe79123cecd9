"""Any text gives a network or a PenstockError with places inside the text: no crash, no hang."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.cql import compile_script
from penstock.errors import PenstockError
from penstock.plan.network import Network
from penstock.plan.node import walk
from tests.cql.corpus import DECLARED, VALID
from tests.cql.grammar import scripts

LIMIT_S = 5.0
WORDS = """
    select from where group by having distinct all as on join inner cross union except intersect istream dstream rstream
    range rows now partition slide origin unbounded minutes seconds and or not in exists between like is null true false
    case when then else end interval date timestamp cast create stream relation view query function with options into
    late keep drop within key python csv array decimal int string s t r v a b c k x.y s.a 'text' 'o''k' "quoted" 1 2.5
    1e3 10,000 .5 ( ) [ ] , ; . * + - / % = <> <= >= < > || :: != ! ? : { } @ # $ & | ^ ~ \\ -- /* */ ' " ` count(*)
    sum(a) max first approx_quantile window_start window_end é 10e 0x1f order limit
""".split()  # noqa: SIM905
soups = st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join)


def survives(text: str) -> None:
    """Compiles `text`; fails on anything but a sound network or a sound refusal."""
    start = time.perf_counter()
    try:
        network = compile_script(text)
    except PenstockError as error:
        assert error.diagnostics
        for found in error.diagnostics:
            assert found.span is not None and 0 <= found.span.start <= found.span.end <= len(text)
        assert str(error)
    else:
        assert isinstance(network, Network)
        assert all(node.schema is not None and node.label for q in network.queries for node in walk(q.root))
    assert time.perf_counter() - start < LIMIT_S


def deep(opening: str, closing: str, count: int, core: str = "a") -> str:
    return f"SELECT {opening * count}{core}{closing * count} FROM s"


@pytest.mark.parametrize(
    "text",
    [
        "",
        ";;;",
        deep("(", ")", 5_000),
        deep("(", "", 5_000),
        deep("NOT ", "", 5_000),
        deep("-", "", 3_000),
        deep("- ", "", 3_000),
        deep("abs(", ")", 3_000),
        deep("CASE WHEN a THEN ", " END", 2_000),
        deep("a IN (", ")", 2_000),
        deep("cast(", " AS INT)", 2_000),
        deep("", "::int", 5_000),
        deep("", "[1]", 5_000),
        deep("a + ", "", 5_000),
        deep("a || ", "", 5_000),
        deep("a AND ", "", 5_000),
        deep("a = 1 OR ", "", 5_000, "b = 2"),
        "SELECT * FROM " + "(SELECT * FROM " * 500 + "s" + ")" * 500,
        "SELECT * FROM " + "(" * 2_000 + "s" + ")" * 2_000,
        "(" * 3_000 + "SELECT * FROM s" + ")" * 3_000,
        "Istream(" * 2_000 + "SELECT * FROM s" + ")" * 2_000,
        " UNION ALL ".join(["SELECT a FROM s"] * 500),
        " EXCEPT ".join(["SELECT a FROM s [Now]"] * 500),
        "SELECT a FROM s WHERE " + "a IN (SELECT a FROM s [Now] WHERE " * 300 + "a = 1" + ")" * 300,
        "SELECT * FROM " + ", ".join(f"s [Rows {i}] x{i}" for i in range(1, 200)),
        "CREATE STREAM x (a " + "ARRAY<" * 3_000 + "INT" + ">" * 3_000 + ")",
        "SELECT " + ", ".join(f"a AS c{i}" for i in range(2_000)) + " FROM s",
        "SELECT " + "9" * 10_000 + " FROM s",
        "SELECT 1e" + "9" * 5_000 + " FROM s",
        "SELECT a FROM s [Rows " + ",".join(["100"] * 3_000) + "]",
        "SELECT a FROM s [Range " + "1 hour " * 3_000 + "]",
        "SELECT INTERVAL '" + "1 hour " * 3_000 + "' FROM s",
        "SELECT '" + "x" * 100_000,
        "/*" * 10_000,
        "\0",
        "SELECT \ud800 FROM s",
    ],
    ids=lambda text: f"{text[:30]!r}...{len(text)}",
)
def test_extremes(text: str) -> None:
    survives(DECLARED + text)


@given(soups)
@example("select case when")
@settings(max_examples=150)
def test_soups_of_words(text: str) -> None:
    survives(DECLARED + text)


@given(st.text(max_size=60))
@settings(max_examples=60)
def test_any_text(text: str) -> None:
    survives(text)


@st.composite
def mutations(draw: st.DrawFn) -> str:
    """A valid query with words taken out, doubled, swapped or replaced."""
    words = draw(st.sampled_from(VALID)).split(" ")
    for _ in range(draw(st.integers(1, 4))):
        i, j = draw(st.integers(0, len(words) - 1)), draw(st.integers(0, len(words) - 1))
        match draw(st.sampled_from(["drop", "double", "swap", "replace", "cut"])):
            case "drop":
                words[i] = ""
            case "double":
                words.insert(i, words[j])
            case "swap":
                words[i], words[j] = words[j], words[i]
            case "replace":
                words[i] = draw(st.sampled_from(WORDS))
            case _:
                words[i] = words[i][: draw(st.integers(0, 4))]
    return " ".join(words)


@given(mutations())
@settings(max_examples=250)
def test_mutations_of_valid_queries(text: str) -> None:
    survives(DECLARED + text)


@given(scripts())
@settings(max_examples=150)
def test_queries_made_from_the_grammar_bind(text: str) -> None:
    """What the grammar's own generator makes is right: it must bind, and every node must know its columns."""
    network = compile_script(DECLARED + text)
    assert len(network.queries) == 1
    assert len(network.queries[0].root.schema) >= 1


@pytest.mark.slow
@given(st.one_of(soups, mutations(), scripts(), st.text(max_size=300)))
@settings(max_examples=20_000, derandomize=False)
def test_long(text: str) -> None:
    survives(DECLARED + text)
