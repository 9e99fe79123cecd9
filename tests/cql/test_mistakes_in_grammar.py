"""What is said of scripts that cannot be read, and where: each place is marked in the query."""

from __future__ import annotations

import pytest

from tests.cql.marked import check

GRAMMAR = [
    (
        "«SELCT» * FROM orders",
        "expected a statement: CREATE ... or SELECT ..., found 'SELCT'",
        "did you mean 'SELECT'?",
    ),
    ("SELECT id «FORM» orders", "unexpected 'FORM'", "did you mean 'FROM'?"),
    ("SELECT id FROM orders «WHRE» id = 3", "unexpected 'WHRE'", "did you mean 'WHERE'?"),
    (
        "SELECT id FROM orders [Now] WHERE id = 3 «GRUOP» BY id",
        "expected the end of the statement, found 'GRUOP'",
        "did you mean 'GROUP'?",
    ),
    (
        "SELECT id FROM orders WHERE id = 3 «ADN» price = 3",
        "expected the end of the statement, found 'ADN'",
        "did you mean 'AND'?",
    ),
    (
        "CREATE «STREM» s (a INT)",
        "expected STREAM, RELATION, VIEW, QUERY, FUNCTION after CREATE, found 'STREM'",
        "did you mean 'STREAM'?",
    ),
    (
        "CREATE STREAM s (a INT) FROM csv «OPTOINS» (path = 'x')",
        "expected the end of the statement, found 'OPTOINS'",
        "did you mean 'OPTIONS'?",
    ),
    (
        "CREATE STREAM s (a INT) WITHIN 1 SECOND LATE «KEP»",
        "expected KEEP or DROP, found 'KEP'",
        "did you mean 'KEEP'?",
    ),
    ("SELECT id FROM orders [«Rnage» 5 Minutes]", "expected a window, found 'Rnage'", "did you mean 'Range'?"),
    (
        "SELECT id FROM orders [Range 5 Minutes «Slid» 3]",
        "expected ] at the end of the window, found 'Slid'",
        "did you mean 'Slide'?",
    ),
    ("SELECT id FROM orders [Range 5 Minutes Slide 1 Minute «Slide» 2]", "a window has one Slide", None),
    ("SELECT id FROM orders [Range «5 Minuts»]", "unknown unit of time 'Minuts'", "did you mean 'minutes'?"),
    ("SELECT id FROM orders [Range «5 Months»]", "a duration in Months has no fixed length", "days"),
    ("SELECT id FROM orders [Rows «1.5»]", "'1.5' is no number of rows", None),
    ("SELECT id FROM orders [Rows «Ten»]", "expected a number, found 'Ten'", None),
    ("SELECT id FROM orders AS o «[»Rows 3]", "the window stands before the alias", "AS s"),
    ("SELECT id FROM orders [Rows 3] «[»Rows 4]", "a second window", None),
    ("SELECT id FROM (orders [Rows 3]) «[Rows 4]»", "a second window", None),
    ("SELECT id FROM orders «ORDER» BY id", "ORDER BY is not offered", None),
    ("SELECT id FROM orders «LIMIT» 3", "LIMIT is not offered", "[Rows 10]"),
    ("SELECT people.age FROM people «LEFT» JOIN bids [Now] ON age = id", "LEFT joins are not offered", "NOT EXISTS"),
    ("SELECT age FROM people JOIN bids [Now] «USING» (id)", "USING is not offered", "ON"),
    ("«WITH» x AS (SELECT 3) SELECT * FROM x", "WITH before a query is not offered", "CREATE VIEW"),
    ("«SELECT id»", "a query needs FROM", None),
    ("SELECT Istream(id)«,» price FROM orders [Now]", "Istream goes around the whole select list", None),
    ("SELECT Istream(id, price) AS «x» FROM orders [Now]", "this alias names more than one column", None),
    ("SELECT count(id) «OVER» (PARTITION BY id) FROM orders", "windows of SQL (OVER) are not offered", "window"),
    ("SELECT id FROM orders WHERE id >«»", "expected an expression, found the end of the statement", None),
    ("SELECT id FROM orders WHERE «>» 3", "expected an expression, found '>'", None),
    ("SELECT ((id «FROM» orders", "expected ), found 'FROM'", None),
    ("SELECT id FROM orders WHERE id BETWEEN 3«»", "expected AND, found the end of the statement", None),
    ("SELECT CASE WHEN id = 3 «ELSE» 4 END FROM orders", "expected THEN, found 'ELSE'", None),
    (
        "SELECT id FROM orders WHERE «order».id = 3",
        "expected an expression, found 'order'",
        'quote a reserved word: "order"',
    ),
    ("CREATE STREAM s («order» INT)", "expected a column, found 'order'", 'quote a reserved word: "order"'),
    ("SELECT id AS «end» FROM orders", "expected a name, found 'end'", 'quote a reserved word: "end"'),
    ("SELECT «a.b.c» FROM orders", "a column has one qualifier at most", None),
    ("SELECT INTERVAL «id» FROM orders", "expected a duration, such as INTERVAL '10' MINUTE, found 'id'", None),
    ("SELECT «12e» FROM orders", "'12e' is no number", None),
    (
        "CREATE QUERY q WITH (delay = «soon») AS SELECT id FROM orders",
        "expected a string, a number, TRUE or FALSE, found 'soon'",
        None,
    ),
]


@pytest.mark.parametrize(("marked", "message", "help"), GRAMMAR, ids=[m for m, _, _ in GRAMMAR])
def test_a_mistake_in_grammar(marked: str, message: str, help: str | None) -> None:
    check(marked, message, help=help)
