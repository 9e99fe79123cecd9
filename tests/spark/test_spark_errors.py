"""Spark's errors, told to a person."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException, StreamingQueryException

from penstock.errors import PenstockError
from penstock.spark.errors import explained, translated

TRACE = "\n\tat org.apache.spark.Some.where(Some.scala:1)\n\tat java.lang.Thread.run(Thread.java:1)"


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        ("[PATH_NOT_FOUND] Path does not exist: file:/data/in. SQLSTATE: 42K03", "no file or folder file:/data/in"),
        ("Failed to find data source: kafka. Please deploy", "Spark has no Kafka connector"),
        ("Failed to find the data source: `avro2`. Make sure", "no data source 'avro2'"),
        ("KafkaException: No resolvable bootstrap urls given in bootstrap.servers", "name of the Kafka broker cannot"),
        ("Invalid url in bootstrap.servers: nohost", "'nohost' is no address of a Kafka broker"),
        ("org.apache.kafka.common.errors.UnknownTopicOrPartitionException: This server does not host this topic",
         "Kafka has no such topic"),
        ("TimeoutException: Timed out waiting for a node assignment. Call: describeTopics", "does not answer"),
        ("SaslAuthenticationException: Authentication failed during authentication", "Kafka refused the credentials"),
        ("Some data may have been lost because they are not available in Kafka any more", "no longer has the records"),
        ("java.net.ConnectException: Connection refused", "nothing listens at the address"),
        ("java.net.UnknownHostException: nohost", "there is no host 'nohost'"),
        ("java.io.IOException: No space left on device", "the disk is full"),
        ("java.io.IOException: Permission denied", "permission denied"),
        ("Error while sending or receiving: Answer from Java side is empty", "Java process has ended"),
        ("java.net.BindException: Address already in use", "the port is taken"),
    ],
)  # fmt: skip
def test_known_causes(raised: str, said: str) -> None:
    error = translated(AnalysisException(raised + TRACE), "stream 's'")
    assert said in str(error) and str(error).startswith("stream 's': ")
    assert "Some.scala" not in str(error)
    assert error.diagnostics[0].help


def test_a_cause_far_down_is_found() -> None:
    error = StreamingQueryException(
        f"Query died{TRACE}\nCaused by: java.net.ConnectException: Connection refused{TRACE}"
    )
    assert "nothing listens" in str(translated(error, "stream 's'"))


def test_an_unknown_error_keeps_its_first_line_without_secrets() -> None:
    error = translated(
        AnalysisException(f"Something: password=hunter2 at T0psecret{TRACE}"), "q", {"token": "T0psecret"}
    )
    assert str(error) == "q: Something: password=*** at ***"


def test_what_a_lane_says_keeps_its_place_and_help() -> None:
    said = "RuntimeError: penstock: lane 1 failed\n    since: yesterday\n    help: mend it\n"
    trace = 'Traceback (most recent call last):\n  File "a.py", line 3, in g\n    f()\n  File "b.py", line 7, in f\n'
    error = AnalysisException(f"{said}{trace}    1 / 0\nZeroDivisionError: division by zero\n")
    (found,) = translated(error, "the run").diagnostics
    assert (found.message, found.help) == ("the run: lane 1 failed", "mend it")
    assert found.notes == ("since: yesterday", "ZeroDivisionError: division by zero", "in f (b.py:7)")


def test_the_systems_errors_name_the_file() -> None:
    error = translated(OSError(28, "No space left on device", "out/x"), "query 'q'")
    assert "query 'q': the disk is full" in str(error) and "out/x" in str(error)


def test_only_sparks_errors_are_translated() -> None:
    with pytest.raises(KeyError), explained("stream 's'"):
        raise KeyError("x")
    with pytest.raises(PenstockError, match="stream 's': "), explained("stream 's'"):
        raise AnalysisException("x")
