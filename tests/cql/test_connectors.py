"""Sources and sinks: misspelt formats and options are mistakes in the script; what only Spark knows passes."""

from __future__ import annotations

import pytest

from penstock.cql import compile_script
from tests.cql.marked import check, mistakes

MISSPELT = [
    ("CREATE STREAM s (a INT) FROM «kafkaa» OPTIONS (subscribe = 's')", "unknown format 'kafkaa'", "'kafka'"),
    ("CREATE STREAM s (a INT) FROM kafka OPTIONS («subscrib» = 's')", "unknown option 'subscrib'", "'subscribe'"),
    ("CREATE RELATION s (a INT) FROM csv OPTIONS (path = 'x', «headr» = TRUE)", "unknown option 'headr'", "'header'"),
    ("SELECT id FROM bids INTO «parqet» OPTIONS (path = 'x')", "unknown format 'parqet'", "'parquet'"),
    ("SELECT id FROM bids INTO parquet OPTIONS («pth» = 'x')", "unknown option 'pth'", "'path'"),
]


@pytest.mark.parametrize(("marked", "message", "help"), MISSPELT)
def test_misspelt(marked: str, message: str, help: str) -> None:
    check(marked, message, help=help)


def test_several_at_once_and_only_names_alike_are_listed() -> None:
    found = mistakes("CREATE STREAM s (a INT) FROM kafka OPTIONS (subscrib = 's', startingOffset = 'earliest')")
    assert [text for text, _ in found] == ["subscrib", "startingOffset"]
    assert all(name.startswith("s") for name in found[0][1].notes[0].removeprefix("known: ").split(", "))


@pytest.mark.parametrize(
    "script",
    [
        "CREATE STREAM s (a INT) FROM kafka OPTIONS (SUBSCRIBE = 's', 'kafka.bootstrap.servers' = 'h', 'kafka.x' = 1)",
        "CREATE STREAM s (a INT) FROM mongodb OPTIONS (collection = 's')",
        "CREATE STREAM s (a INT) FROM delta OPTIONS (anything = 1)",
        "CREATE STREAM s (a INT); SELECT a FROM s INTO jdbc OPTIONS (url = 'u', dbtable = 't')",
        "CREATE STREAM s (a INT); SELECT a FROM s INTO kafka OPTIONS (topic = 't')",
    ],
)
def test_what_is_somebody_elses_passes(script: str) -> None:
    assert compile_script(script).streams
