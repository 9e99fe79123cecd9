"""Declarations, and queries over them that are right: each is bound, mutated, and shown to the fuzzers."""

from __future__ import annotations

from typing import Final

DECLARED: Final = """
CREATE STREAM s (ts TIMESTAMP, a INT, b INT, c STRING, x DOUBLE, d DECIMAL(10, 2)) TIMESTAMP BY ts WITHIN 2 SECONDS;
CREATE STREAM t (a INT, b INT, k BIGINT, c STRING, day DATE);
CREATE RELATION r (a INT, name STRING) FROM csv OPTIONS (path = 'r.csv');
CREATE RELATION u (k BIGINT, a INT) FROM t KEY (k);
CREATE VIEW v AS SELECT a, b + 1 AS b1, c FROM s WHERE x > 0.5;
CREATE VIEW sums AS SELECT a, sum(b) AS total, window_end FROM s [Range 10 Seconds Slide 5 Seconds] GROUP BY a;
"""
VALID: Final = (
    "SELECT * FROM s",
    "SELECT Istream(*) FROM s [Rows Unbounded] WHERE s.a > 10 AND s.b < 20",
    "SELECT a + b * 2 AS e , -x FROM s WHERE a BETWEEN 1 AND 5 AND c IS NOT NULL",
    "SELECT s.* , t.k FROM s [Rows 1000] , t [Range 2 Minutes] AS t WHERE s.a = t.a AND s.x > 1.5",
    "SELECT Rstream( a , sum(b) ) FROM s [Range 10 Minutes Slide 1 Minute Origin 0] GROUP BY a",
    "SELECT a , count(*) AS n , window_start FROM s [Rows 10 Slide 2] WHERE b > 1 GROUP BY a HAVING n > 3",
    "SELECT max(total) FROM sums [Range 1 Hour Slide 1 Hour] AS w",
    "SELECT DISTINCT total FROM sums",
    "SELECT sums.total , r.name FROM sums , r WHERE sums.a = r.a",
    "SELECT * FROM s WHERE s.a IN ( SELECT a FROM t [Rows 10,000] ) AND NOT EXISTS ( SELECT * FROM u WHERE u.a = s.b )",
    "SELECT a FROM s [Now] EXCEPT ALL SELECT a FROM t [Partition By c Rows 3]",
    "SELECT a FROM s UNION ALL SELECT k FROM t",
    "SELECT case when a > 1 then 'x' when a is null then c end AS e FROM v",
    "SELECT q.a FROM ( SELECT a , count(distinct b) AS n FROM t [Range 5 On k] GROUP BY a ) q JOIN r ON q.a = r.a",
    "Istream( SELECT a FROM s [Now] INTERSECT SELECT a FROM r )",
    "CREATE QUERY q WITH ( delay = '2 seconds' , max_gap = 3 ) AS SELECT a FROM s INTO csv OPTIONS ( path = 'x' )",
    "SELECT cast(a as string) , x::int , date '2026-01-31' , interval '5' minute FROM s WHERE ts > '2026-01-01'",
)
