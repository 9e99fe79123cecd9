"""Names that Spark takes for syntax, or ignores the case of, are names like others."""

from __future__ import annotations

import random

import pytest

from penstock.cql import compile_script
from penstock.errors import PenstockError
from penstock.lane import reference
from penstock.lane.events import Arrival
from penstock.lane.session import Job
from penstock.settings import Settings
from penstock.spark import kit
from penstock.spark.sources.columns import checked_names
from tests.law.compare import difference

SCRIPT = """
CREATE STREAM "s.t`u" ("a`b" INT, "a.b" INT, "c d" STRING, "e%2E" DOUBLE, "x:y" INT) WITHIN 0 SECONDS;
CREATE STREAM "other one" ("a`b" INT, "Ä" STRING) WITHIN 0 SECONDS;
CREATE QUERY "q.1" AS SELECT "a`b" AS "g`h", sum("a.b") AS "t.u", max("e%2E") AS "m:n"
  FROM "s.t`u" [Range 4 Slide 2] WHERE "a.b" > 0 GROUP BY "a`b";
CREATE QUERY "q 2" AS SELECT "s.t`u"."c d" AS c, "other one"."Ä" AS d
  FROM "s.t`u" [Range 3], "other one" [Range 3] WHERE "s.t`u"."a`b" = "other one"."a`b";
CREATE QUERY "q`3" AS SELECT "c d", "e%2E" FROM "s.t`u" WHERE "a`b" < 3 AND "x:y" IS NOT NULL;
"""
VALUES = {"int": (None, 0, 1, 2, 3), "string": (None, "x", "y"), "double": (None, 0.5, -1.0)}


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("pane_rows", [0, 1 << 40])
def test_odd_names_on_spark(pane_rows: int) -> None:
    network = compile_script(SCRIPT)
    draw, now, given = random.Random(3), 0, []
    for place in range(80):
        now += draw.choice((0, 1, 2))
        stream = draw.choice(network.streams)
        row = tuple(draw.choice(VALUES[f.type.name]) for f in stream.schema)
        given.append(Arrival(stream.name, now, place, row))
    expected = reference.evaluate(network, network.streams, given)
    job = Job(network, network.streams, (), given, 30)
    found = kit.run(job, 2, settings=Settings(pane_rows=pane_rows)).elements
    for query in network.queries:
        apart = difference(found[query.name], expected[query.name], given)
        assert expected[query.name]
        assert not apart, f"{query.name}, Spark less reference: {apart}"


@pytest.mark.parametrize("name", ["_ts", "_SEQ", "_entry", "_lane", "_metadata"])
def test_names_of_ours_are_refused(name: str) -> None:
    network = compile_script(f'CREATE STREAM s (a INT, "{name}" INT)')
    with pytest.raises(PenstockError, match="is Penstock's own"):
        checked_names("stream 's'", network.streams[0].schema)
