"""What is said of mistakes, and where: each place is marked in the query. Exactly these, and nothing that follows from
them."""

from __future__ import annotations

import pytest

from penstock.cql import compile_script
from penstock.errors import PenstockError
from tests.cql.marked import check, mistakes

BINDING = [
    # names
    ("SELECT * FROM «orders2» [Range 5 Minutes]", "unknown stream or relation 'orders2'", "did you mean 'orders'?"),
    ("SELECT «prise» FROM orders", "unknown column 'prise'", "did you mean 'price'?"),
    ("SELECT o.«prise», p.name FROM orders [Now] AS o, people p", "unknown column 'prise'", "did you mean 'price'?"),
    ("SELECT «ordres».price FROM orders", "unknown name 'ordres'", "did you mean 'orders'?"),
    ("SELECT «orders».price FROM orders AS o", "unknown name 'orders'", None),
    ("SELECT «x».* FROM orders o", "unknown name 'x'", None),
    ("SELECT «id» FROM orders [Now], bids [Now]", "column 'id' is ambiguous", "orders.id"),
    ("SELECT orders.id FROM orders [Now], «orders [Rows 2]»", "the name 'orders' stands twice in FROM", "alias"),
    ("SELECT id, «ID» FROM orders", "column name 'ID' occurs twice", "rename one with AS"),
    ("SELECT «upr»(customer) FROM orders", "unknown function 'upr'", None),
    ("SELECT «summ»(price) FROM orders [Rows 3]", "unknown function 'summ'", "did you mean 'sum'?"),
    ("SELECT «now»() FROM orders", "unknown function 'now'", "a result depends on its input alone"),
    (
        "SELECT extract(«yaer» FROM day) FROM orders",
        "unknown part of a timestamp 'yaer'",
        "did you mean 'year'?",
    ),
    ("CREATE QUERY a AS SELECT id FROM bids; SELECT id FROM «a»", "'a' is a query, and FROM reads none", "CREATE VIEW"),
    (
        "CREATE QUERY a AS SELECT id FROM bids; CREATE QUERY «A» AS SELECT id FROM bids",
        "there is a query named 'A' already",
        None,
    ),
    ("CREATE STREAM «orders» (x INT)", "there is a stream named 'orders' already", None),
    ("SELECT «Istrem»(*) FROM orders [Now]", "unknown function 'Istrem'", "did you mean 'istream'?"),
    ('SELECT id FROM orders WHERE customer = «"Bob"»', "unknown column 'Bob'", "a string is written 'Bob'"),
    # types
    ("SELECT «cast(o.day AS double)» FROM orders [Now] o, people", "cannot cast o.day (date) to double", None),
    ("SELECT «id + customer» FROM orders", "'+' does not take (int, string)", "cast"),
    ("SELECT id FROM orders WHERE «price»", "WHERE needs a condition, and this is double", None),
    ("SELECT id FROM orders WHERE id = 1 AND «price»", "WHERE needs a condition, and this is double", None),
    ("SELECT id FROM orders WHERE «price» OR id = 1", "OR joins conditions, and this is double", None),
    ("SELECT id FROM orders WHERE «NOT price»", "'not' does not take (double)", None),
    ("SELECT date «'2026-13-01'» FROM orders", "'2026-13-01' is no date", None),
    ("SELECT «cast(day AS double)» FROM orders", "cannot cast day (date) to double", None),
    (
        "SELECT o.id FROM orders [Now] o, bids [Now] b WHERE «o.id = b.bidder»",
        "'=' does not take (int, string)",
        "cast(o.id as string)",
    ),
    ("SELECT id FROM orders WHERE «(id, price)» = 3", "a row of values has no place here", None),
    ("SELECT «lower(DISTINCT customer)» FROM orders", "lower is no aggregate: it takes neither * nor DISTINCT", None),
    ("SELECT «1e999» FROM orders", "1e999 is too large for a DOUBLE", None),
    # aggregates
    (
        "SELECT «customer», sum(price) FROM orders [Rows 10]",
        "column 'customer' is neither a key nor inside an aggregate",
        "GROUP BY",
    ),
    (
        "SELECT id + 1, «id» FROM orders [Rows 10] GROUP BY id + 1",
        "column 'id' is neither a key nor inside an aggregate",
        None,
    ),
    ("SELECT max(«sum(price)») FROM orders [Rows 3]", "aggregate sum has no place in an aggregate", None),
    ("SELECT id FROM orders [Rows 3] WHERE «sum(price)» > 3", "aggregate sum has no place in WHERE", None),
    ("SELECT «*», count(*) FROM orders [Rows 3]", "* has no place beside GROUP BY and aggregates", None),
    ("SELECT «sum(*)» FROM orders [Rows 3]", "sum(*) has no meaning", None),
    ("SELECT «sum(customer)» FROM orders [Rows 3]", "sum(string) has no meaning", None),
    ("SELECT «count()» FROM orders [Rows 3]", "count needs an argument", "count(*)"),
    ("SELECT «count(id, price)» FROM orders [Rows 3]", "count takes 1 argument, not 2", None),
    (
        "SELECT «approx_quantile(price, id)» FROM orders [Rows 3]",
        "approx_quantile takes one column; what follows it must be constants",
        None,
    ),
    ("SELECT count(*) FROM orders [Rows 3] GROUP BY «1»", "GROUP BY takes no positions", None),
    (
        "SELECT «first(id)» FROM orders [Now], people",
        "first needs rows in the order of a stream, and these have none",
        None,
    ),
    (
        "SELECT «last(id)» FROM orders [Rows 9 Slide 3] WHERE price > 3",
        "last needs rows in the order of a stream, and these have none",
        None,
    ),
    # state without bounds
    (
        "SELECT sum(price) FROM «orders»",
        "an aggregate over stream 'orders' without a window needs unbounded state",
        "orders [Range 10 Minutes]",
    ),
    (
        "SELECT «DISTINCT» id FROM orders",
        "DISTINCT over stream 'orders' without a window needs unbounded state",
        "[Rows Unbounded]",
    ),
    (
        "SELECT orders.id FROM «orders», people",
        "a join over stream 'orders' without a window needs unbounded state",
        None,
    ),
    (
        "SELECT id FROM orders WHERE id IN (SELECT id FROM «bids»)",
        "a sub-query of WHERE over stream 'bids' without a window needs unbounded state",
        None,
    ),
    (
        "SELECT id FROM bids [Now] EXCEPT SELECT id FROM «orders»",
        "EXCEPT over stream 'orders' without a window needs unbounded state",
        None,
    ),
    (
        "SELECT id FROM orders [Now] UNION ALL SELECT id FROM «bids»",
        "UNION ALL over stream 'bids' without a window needs unbounded state",
        None,
    ),
    ("SELECT «Dstream»(id) FROM orders", "Dstream needs a relation, and this is a stream", "window"),
    (
        "SELECT count(*) FROM «orders» WHERE id IN (SELECT id FROM bids [Now])",
        "an aggregate over stream 'orders' without a window needs unbounded state",
        None,
    ),
    # windows
    ("SELECT * FROM people «[Rows 10]»", "a window needs a stream, and 'people' is a relation", "Istream"),
    (
        "SELECT * FROM (SELECT id FROM orders [Now]) «[Rows 10]» x",
        "a window needs a stream, and the sub-query is a relation",
        None,
    ),
    ("SELECT id FROM orders [Rows «0»]", "a window's size of 0 is too small", "at least one row"),
    ("SELECT id FROM orders [Range 10 Minutes Slide «0»]", "a window's slide of 0 is too small", None),
    ("SELECT id FROM orders [Range «-5»]", "a window's size of -5 is too small", None),
    ("SELECT id FROM orders [Range 10 On «customer»]", "a window cannot run over 'customer', a string", "number"),
    ("SELECT id FROM orders [Range «10 Minutes» On id]", "a duration does not measure int", None),
    ("SELECT id FROM orders [Range «36 Hours» On day]", "1.5 is no whole number of days", None),
    ("SELECT id FROM orders [Range «1.5» On id]", "1.5 is no whole number of units", None),
    ("SELECT id FROM orders [Partition By «idd» Rows 3]", "unknown column 'idd'", "did you mean 'id'?"),
    ("SELECT id FROM orders «[Partition By id Range 3]»", "Partition By belongs to Rows", None),
    ("SELECT id FROM orders [Rows 3 On «id»]", "On belongs to Range", None),
    ("SELECT id FROM orders [Rows 3 Origin «2»]", "Origin belongs to Slide", None),
    ("SELECT id FROM orders [Range Unbounded Slide «2»]", "only a window with a size can slide", None),
    ("SELECT «window_start» FROM orders [Range 10 Minutes]", "unknown column 'window_start'", "a window with Slide"),
    (
        "SELECT count(*) FROM orders [Range 9 Slide 3] WHERE «window_end» > at",
        "unknown column 'window_end'",
        "HAVING may name them",
    ),
    # sub-queries
    ("SELECT id FROM orders WHERE id > «(SELECT max(id) FROM bids [Rows 3])»", "a sub-query has no place here", "FROM"),
    (
        "SELECT id FROM orders WHERE id = 3 OR «exists (SELECT * FROM bids [Now])»",
        "a sub-query has no place here",
        None,
    ),
    ("SELECT id FROM orders WHERE «id IN (SELECT id, price FROM bids [Now])»", "IN compares 1 with 2 columns", None),
    ("SELECT id FROM orders WHERE «id IN (SELECT bidder FROM bids [Now])»", "IN compares int with string", None),
    ("SELECT id FROM orders WHERE «orders IN (SELECT * FROM bids [Now])»", "IN compares 6 with 3 columns", None),
    (
        "SELECT id FROM orders WHERE id IN «(SELECT Istream(id) FROM bids [Now])»",
        "a sub-query of WHERE needs a relation, and this is a stream",
        "window",
    ),
    (
        "SELECT id FROM orders o WHERE EXISTS (SELECT count(*) FROM bids [Now] WHERE «o.id» = bids.id)",
        "'id' belongs to the query around this one",
        "WHERE",
    ),
    (
        "SELECT id FROM orders o WHERE EXISTS (SELECT «o.id» FROM bids [Now])",
        "'id' belongs to the query around this one",
        None,
    ),
    # set operations
    (
        "SELECT id FROM orders [Now] «EXCEPT» SELECT id, price FROM bids [Now]",
        "EXCEPT of rows with 1 and 2 columns",
        None,
    ),
    (
        "SELECT id FROM orders [Now] «UNION ALL» SELECT bidder FROM bids [Now]",
        "UNION: column 'id' is int and string",
        "cast",
    ),
    # options and definitions
    (
        "CREATE QUERY q WITH («dealy» = '2 seconds') AS SELECT * FROM bids",
        "unknown option 'dealy'",
        "did you mean 'delay'?",
    ),
    ("CREATE QUERY q WITH (delay = «'soon'») AS SELECT * FROM bids", "option 'delay' cannot be 'soon'", "'2 seconds'"),
    (
        "CREATE QUERY q WITH (delay = '1 s', «Delay» = '2 s') AS SELECT * FROM bids",
        "option 'Delay' is given twice",
        None,
    ),
    ("CREATE QUERY q WITH (answer = «'maybe'») AS SELECT * FROM bids", "option 'answer' cannot be 'maybe'", "estimate"),
    ("CREATE QUERY q WITH (max_gap = «-1») AS SELECT * FROM bids", "option 'max_gap' cannot be -1", None),
    ("CREATE QUERY q WITH (loss = «3») AS SELECT * FROM bids", "option 'loss' cannot be 3", "100: 1.0"),
    ("CREATE QUERY q WITH (confidence = «95») AS SELECT * FROM bids", "option 'confidence' cannot be 95", "0.95"),
    ("CREATE STREAM s (x INT, «X» INT)", "column name 'X' occurs twice", None),
    ("CREATE STREAM s (x «INTEGR»)", "unknown type 'INTEGR'", "did you mean 'integer'?"),
    ("CREATE STREAM s (x «DECIMAL(50, 2)»)", "decimal(50,2) is out of range", None),
    ("CREATE STREAM s (x «DECIMAL(1, 2, 3)»)", "'DECIMAL(1, 2, 3)' is no type", None),
    ("CREATE STREAM s (x INT) TIMESTAMP BY «y»", "unknown column 'y'", None),
    ("CREATE STREAM s (x STRING) TIMESTAMP BY «x»", "'x', a string, stamps nothing", "TIMESTAMP"),
    ("CREATE STREAM s (x INT) FROM csv OPTIONS (path = 'a', «path» = 'b')", "option 'path' is given twice", None),
    ("CREATE RELATION r («prise» INT) FROM bids KEY (prise)", "unknown column 'prise'", "did you mean 'price'?"),
    ("CREATE RELATION r (id INT, «price» INT) FROM bids KEY (id)", "'price' is double in the stream", "double"),
    ("CREATE RELATION r (id INT) FROM «bids»", "'bids' is a stream, and FROM names a format here", "KEY (column)"),
    ("CREATE STREAM s (id INT) FROM «people»", "'people' is a relation, and FROM names a format here", None),
    ("CREATE STREAM s (id INT) FROM «csv» OPTIONS (header = true)", "FROM csv needs a path", "OPTIONS (path = '...')"),
    ("SELECT id FROM orders INTO «parquet»", "INTO parquet needs a path", "OPTIONS (path = '...')"),
    ("CREATE RELATION r (id INT) FROM bids KEY («price»)", "unknown column 'price'", None),
    (
        "CREATE RELATION r (name STRING) FROM «people» KEY (name)",
        "'people' is a relation, and a stream is needed",
        None,
    ),
    ("CREATE FUNCTION f FROM «scala» OPTIONS (file = 'f.scala')", "functions come from python, not from scala", None),
    ("CREATE FUNCTION f FROM python OPTIONS (file = «'nowhere.py'»)", "there is no file nowhere.py", None),
    ("CREATE FUNCTION «f» FROM python", "where is this function?", None),
    ("CREATE FUNCTION f FROM python OPTIONS («path» = 'f.py')", "unknown option 'path'", None),
]

@pytest.mark.parametrize(("marked", "message", "help"), BINDING, ids=[m for m, _, _ in BINDING])
def test_a_mistake_in_meaning(marked: str, message: str, help: str | None) -> None:
    check(marked, message, help=help)


def test_several_mistakes_are_reported_at_once_in_the_order_of_the_text() -> None:
    check(
        "SELECT «idd», customer, «cutsomer» FROM orders WHERE «prize» > 3 AND «dayy» > day",
        "unknown column 'idd'",
        "unknown column 'cutsomer'",
        "unknown column 'prize'",
        "unknown column 'dayy'",
    )
    check(
        """
        CREATE STREAM s (a INT, b «INTEEGER»);
        SELECT id FROM «order2»;
        SELECT id «FRM» orders;
        CREATE QUERY q WITH («dely» = '1 s', loss = «1») AS
            SELECT «a», id, sum(«c») AS total FROM bids [Rows 10 Slide 2] GROUP BY id, «d» HAVING «e» > 1
        """,
        "unknown type 'INTEEGER'",
        "unknown stream or relation 'order2'",
        "unexpected 'FRM'",
        "unknown option 'dely'",
        "option 'loss' cannot be 1",
        "unknown column 'a'",
        "unknown column 'c'",
        "unknown column 'd'",
        "unknown column 'e'",
    )


def test_a_wrong_number_or_unit_does_not_hide_the_other_mistakes_of_a_statement() -> None:
    check("SELECT «idd» FROM orders [Range «5 Minuts» Slide «1 Houre»] WHERE «prize» > 3",
          "unknown column 'idd'", "unknown unit of time 'Minuts'", "unknown unit of time 'Houre'",
          "unknown column 'prize'")  # fmt: skip
    check("SELECT «idd» FROM orders [Range «5 Minuts» On id]", "unknown column 'idd'", "unknown unit of time 'Minuts'")
    check("SELECT «idd» FROM orders [Rows «1.5»]", "unknown column 'idd'", "'1.5' is no number of rows")


def test_a_name_that_a_broken_statement_would_have_made_is_suggested() -> None:
    (_, broken), (_, unknown) = mistakes("CREATE STREM packets (a INT); SELECT a FROM packet [Rows 3]")
    assert broken.help == "did you mean 'STREAM'?"
    assert unknown.message == "unknown stream or relation 'packet'" and unknown.help == "did you mean 'packets'?"


def test_of_a_long_line_the_part_about_the_mistake_is_shown() -> None:
    many = ", ".join(f"id AS c{i}" for i in range(300))
    with pytest.raises(PenstockError) as caught:
        compile_script(f"CREATE STREAM orders (id INT); SELECT {many}, prise, {many} FROM orders")
    first, excerpt, marks = str(caught.value).splitlines()[:3]
    assert first.endswith("unknown column 'prise'")
    assert len(excerpt) < 250 and excerpt.strip().startswith("... ") and excerpt.endswith(" ...")
    assert excerpt[marks.index("^") : marks.rindex("^") + 1] == "prise"


def test_nothing_follows_from_what_is_broken() -> None:
    """Names that a broken statement would have created are known, their columns are anything."""
    check(
        "CREATE STREAM s (a «INTT»); SELECT b FROM s; SELECT s.c, count(*) FROM s [Rows 3] GROUP BY s.d",
        "unknown type 'INTT'",
    )
    check(
        "CREATE «STREEM» s (a INT); SELECT b FROM s",
        "expected STREAM, RELATION, VIEW, QUERY, FUNCTION after CREATE, found 'STREEM'",
    )
    check("«CRETE» STREAM s (a INT); SELECT b FROM s", "expected a statement: CREATE ... or SELECT ..., found 'CRETE'")
    check(
        "CREATE VIEW v AS SELECT «z» FROM orders; SELECT y, x FROM v WHERE w > 3; SELECT * FROM v [Rows 2], bids [Now]",
        "unknown column 'z'",
    )
    check(
        "SELECT a.x, b.id, y FROM «nowhere» [Rows 3] a, bids [Now] b WHERE a.id = b.id AND z = 3",
        "unknown stream or relation 'nowhere'",
    )
    check(
        "SELECT n.id FROM «nowhere» n WHERE EXISTS (SELECT * FROM bids [Now] WHERE bids.id = n.x AND bids.«idd» = n.y)",
        "unknown stream or relation 'nowhere'",
        "unknown column 'idd'",
    )
    check("SELECT x FROM orders [Rows «0»], bids [Now]", "a window's size of 0 is too small")
    check("SELECT «idd» + 1 AS a, lower(«cust») FROM orders WHERE customer IN (SELECT «namee» FROM people)",
          "unknown column 'idd'", "unknown column 'cust'", "unknown column 'namee'")  # fmt: skip


def test_a_view_is_blamed_once_however_often_it_is_read() -> None:
    view = "CREATE VIEW v AS SELECT «idd», count(*) AS n FROM orders [Range 9 Slide 3] GROUP BY id;"
    check(f"{view} SELECT * FROM v; SELECT DISTINCT n FROM v; SELECT v.n FROM v, people", "unknown column 'idd'")


def test_the_message_is_a_page_a_person_reads() -> None:
    with pytest.raises(PenstockError) as caught:
        compile_script(
            "CREATE STREAM orders (id INT); CREATE STREAM bids (id INT);\n\nSELECT * FROM orders2 [Range 5 Minutes]",
            "app.cql",
        )
    assert str(caught.value) == (
        "app.cql:3:15  unknown stream or relation 'orders2'\n"
        "    SELECT * FROM orders2 [Range 5 Minutes]\n"
        "                  ^^^^^^^\n"
        "    known: bids, orders\n"
        "    help: did you mean 'orders'?"
    )
