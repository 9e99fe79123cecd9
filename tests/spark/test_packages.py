"""Java packages: what is asked of whom, without a network."""

from __future__ import annotations

import stat
from pathlib import Path

import pyspark
import pytest

from penstock.errors import PenstockError
from penstock.plan.network import Connector, Network, Query, StreamDefinition
from penstock.plan.nodes import Source
from penstock.plan.schema import Schema
from penstock.spark import packages
from penstock.spark.packages import Artifact, artifact, fetched, formats_of, missing_dependencies, session_settings

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><dependencies>
<dependency><groupId>org.apache.spark</groupId><artifactId>spark-token-provider</artifactId><version>4</version></dependency>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-clients</artifactId><version>3.9.2</version>
  <scope>compile</scope></dependency>
<dependency><groupId>org.xerial.snappy</groupId><artifactId>snappy-java</artifactId><version>1</version></dependency>
<dependency><groupId>junit</groupId><artifactId>junit</artifactId><version>4</version><scope>test</scope></dependency>
</dependencies></project>"""


def maven(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts a Maven on the PATH that does what `script` says; `$out` is the folder for the jars."""
    command = folder / "mvn"
    command.write_text(f"#!/bin/sh\nfor a; do case $a in -DoutputDirectory=*) out=${{a#*=}};; esac; done\n{script}\n")
    command.chmod(command.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_what_spark_lacks_is_read_from_a_packages_own_list() -> None:
    assert missing_dependencies(POM) == [Artifact("org.apache.kafka", "kafka-clients", "3.9.2")]


def test_packages_are_fetched_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    maven(tmp_path, 'touch "$out/a.jar" "$out/a.pom"; echo again >> "$out/../calls"', monkeypatch)
    for _ in range(2):
        assert [p.name for p in fetched([artifact("g:a:1")], tmp_path / "cache")] == ["a.jar"]
    assert (tmp_path / "cache" / "calls").read_text() == "again\n"


def test_a_failure_leaves_nothing_and_says_what_maven_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    maven(tmp_path, 'touch "$out/half.jar"; echo "[ERROR] no such artifact"; exit 1', monkeypatch)
    with pytest.raises(PenstockError) as caught:
        fetched([artifact("g:a:1")], tmp_path / "cache")
    assert "cannot fetch g:a:1" in str(caught.value) and "no such artifact" in str(caught.value)
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_connector_of_another_version_serves_where_sparks_own_is_not_to_be_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = "; ".join(f'grep -q "<version>{v}<" pom.xml && touch "$out/spark-sql-kafka-0-10_2.13-{v}.jar" && exit 0'
                      for v in packages.TESTED[:1])  # fmt: skip
    maven(tmp_path, f'{known}; echo "[ERROR] not found"; exit 1', monkeypatch)
    found = session_settings({"kafka"}, cache=tmp_path / "cache")
    folder = tmp_path / "cache" / f"kafka-{pyspark.__version__}"
    assert found == {"spark.jars": f"{folder}/spark-sql-kafka-0-10_2.13-{packages.TESTED[0]}.jar"}


def test_without_maven_spark_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    connector = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"
    assert session_settings({"kafka", "csv"}, ["g:a:1"]) == {"spark.jars.packages": f"g:a:1,{connector}"}
    assert session_settings({"csv"}) == {}


@pytest.mark.parametrize("wrong", ["g:a", "g:a:1:2", "g:a:1</version>", ""])
def test_coordinates_that_are_none(wrong: str) -> None:
    with pytest.raises(PenstockError, match="does not name a package"):
        artifact(wrong)


def test_formats_of_a_network() -> None:
    source = StreamDefinition("s", Schema.parse("n int"), source=Connector("Kafka"))
    query = Query("q", Source("s", source.schema), sink=Connector("parquet"))
    assert formats_of(Network((source,), queries=(query,))) == {"kafka", "parquet"}
