"""Spark's Kafka connector and other Java packages: found, or fetched once through the user's own Maven.

Spark does not carry its Kafka connector. Whoever has it in Spark's `jars` folder or in `spark.jars` needs nothing from
us. Else Maven (`mvn` on the PATH, with whatever mirrors and proxies its settings name) fetches it into our cache. Where
there is no Maven, Spark's own resolver, Ivy, is asked (`spark.jars.packages`), which knows Maven Central alone.

The connector's parent names repositories that a closed network may not reach, so Maven is never asked to follow it: the
connector's own list of dependencies is read, and what Spark has already is left out.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import xml.etree.ElementTree as xml
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyspark

from penstock.errors import Diagnostic, PenstockError
from penstock.plan.network import Network

SCALA: Final = "2.13"
PATIENCE_S: Final = 600
TESTED: Final = ("4.2.0", "4.0.0")
"""Versions of the connector and of its helper for credentials that were tested with the Spark we ship, for when a
repository does not have Spark's own version."""
_NAMESPACE: Final = "{http://maven.apache.org/POM/4.0.0}"
_POM: Final = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>penstock</groupId><artifactId>jars</artifactId><version>1</version><packaging>pom</packaging>
<dependencies>
{dependencies}
</dependencies></project>
"""
_DEPENDENCY: Final = """<dependency>
<groupId>{0.group}</groupId><artifactId>{0.name}</artifactId><version>{0.version}</version>{1}
</dependency>"""
_ALONE: Final = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"


@dataclass(frozen=True, slots=True)
class Artifact:
    """What Maven calls a package.

    >>> str(artifact("org.postgresql:postgresql:42.7.4"))
    'org.postgresql:postgresql:42.7.4'
    """

    group: str
    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.group}:{self.name}:{self.version}"


def artifact(coordinates: str) -> Artifact:
    """The package that `group:artifact:version` names."""
    parts = coordinates.strip().split(":")
    if len(parts) != 3 or not all(re.fullmatch(r"[\w.-]+", p) for p in parts):
        raise PenstockError(
            Diagnostic(f"'{coordinates}' does not name a package", help="write group:artifact:version, as Maven does")
        )
    return Artifact(*parts)


def default_cache() -> Path:
    """Where fetched packages are kept from run to run."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "penstock" / "jars"


def session_settings(formats: Iterable[str], packages: Sequence[str] = (), cache: Path | None = None) -> dict[str, str]:
    """Settings for a session that reads and writes `formats` and has `packages` besides: `spark.jars`, or where
    there is no Maven `spark.jars.packages`."""
    wanted = [artifact(p) for p in packages]
    kafka = "kafka" in {f.lower() for f in formats} and not bundled_connector()
    if shutil.which("mvn") is None:
        names = [*wanted, *([_connector(pyspark.__version__)] if kafka else [])]
        return {"spark.jars.packages": ",".join(map(str, names))} if names else {}
    home = cache or default_cache()
    jars = [*(kafka_connector(home) if kafka else ()), *(fetched(wanted, home) if wanted else ())]
    return {"spark.jars": ",".join(map(str, dict.fromkeys(jars)))} if jars else {}


def formats_of(network: Network) -> set[str]:
    """The formats that the sources and sinks of `network` name."""
    sources = [s.source for s in network.streams] + [r.source for r in network.relations]
    return {c.format.lower() for c in [*sources, *(q.sink for q in network.queries)] if c is not None}


def bundled_connector() -> Path | None:
    """The connector in the `jars` folder of the Spark that will run, if somebody has put it there."""
    home = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)
    return next(iter(sorted((home / "jars").glob("spark-sql-kafka-0-10_*.jar"))), None)


def cached_connector(cache: Path | None = None) -> Path | None:
    """The connector in our cache, if it was fetched before."""
    found = sorted((cache or default_cache()).glob(f"kafka-{pyspark.__version__}/spark-sql-kafka-0-10_*.jar"))
    return found[0] if found else None


def kafka_connector(cache: Path) -> tuple[Path, ...]:
    """The connector's jars, fetched on first use: Spark's own version, else the one that was tested with it."""
    folder = cache / f"kafka-{pyspark.__version__}"
    if not folder.is_dir():
        _into(folder, _fetch_connector)
    return tuple(sorted(folder.glob("*.jar")))


def _fetch_connector(folder: Path) -> None:
    own = pyspark.__version__
    attempts = dict.fromkeys([(own, own), (TESTED[0], TESTED[0]), TESTED])
    failures = []
    for connector, helper in attempts:
        try:
            _copy([_connector(connector), _helper(helper)], folder, alone=True)
            needed = [d for pom in sorted(folder.glob("*.pom")) for d in missing_dependencies(pom.read_text("utf-8"))]
            nearest = {(d.group, d.name): d for d in reversed(needed)}
            if nearest:
                _copy(list(nearest.values()), folder, alone=True)
            return
        except PenstockError as error:
            failures.append(error)
            for file in folder.iterdir():
                file.unlink()
    raise failures[0]


def _connector(version: str) -> Artifact:
    return Artifact("org.apache.spark", f"spark-sql-kafka-0-10_{SCALA}", version)


def _helper(version: str) -> Artifact:
    return Artifact("org.apache.spark", f"spark-token-provider-kafka-0-10_{SCALA}", version)


def missing_dependencies(pom: str) -> list[Artifact]:
    """What a package of Spark needs at run time that Spark does not have: neither a package of Spark nor one of which
    a jar of any version lies in its folder."""
    present = {p.name for p in (Path(pyspark.__file__).parent / "jars").glob("*.jar")}
    found = []
    for dependency in xml.fromstring(pom).iterfind(f"{_NAMESPACE}dependencies/{_NAMESPACE}dependency"):
        group, name, version, scope = (
            dependency.findtext(_NAMESPACE + tag, "") for tag in ("groupId", "artifactId", "version", "scope")
        )
        needed = scope in ("", "compile", "runtime") and group != "org.apache.spark" and "$" not in version
        if needed and not any(re.match(rf"{re.escape(name)}-\d", p) for p in present):
            found.append(Artifact(group, name, version))
    return found


def fetched(packages: Sequence[Artifact], cache: Path) -> tuple[Path, ...]:
    """The jars of `packages` and of all that they need, fetched on first use."""
    folder = cache / re.sub(r"[^\w.-]+", "-", "+".join(map(str, packages)))[:200]
    if not folder.is_dir():
        _into(folder, lambda draft: _copy(packages, draft, alone=False))
    return tuple(sorted(folder.glob("*.jar")))


def _into(folder: Path, fill: Callable[[Path], None]) -> None:
    """Fills a folder that appears whole or not at all."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".draft-") as draft:
        fill(Path(draft))
        Path(draft).chmod(0o755)
        try:
            Path(draft).rename(folder)
        except OSError:
            if not folder.is_dir():
                raise
        else:
            Path(draft).mkdir()


def _copy(packages: Sequence[Artifact], folder: Path, *, alone: bool) -> None:
    """Lets Maven copy `packages` into `folder`, with their descriptions; `alone` without what they depend on."""
    with tempfile.TemporaryDirectory() as work:
        listed = "\n".join(_DEPENDENCY.format(p, _ALONE if alone else "") for p in packages)
        (Path(work) / "pom.xml").write_text(_POM.format(dependencies=listed), encoding="utf-8")
        command = ["mvn", "--batch-mode", "--quiet", "dependency:copy-dependencies", "-DincludeScope=runtime"]
        command += [f"-DoutputDirectory={folder.resolve()}", "-Dmdep.copyPom=true"]
        try:
            done = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=PATIENCE_S)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise _unfetched(packages, str(error)) from None
    if done.returncode:
        said = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("[ERROR]")]
        raise _unfetched(packages, said[0].removeprefix("[ERROR] ") if said else f"exit code {done.returncode}")


def _unfetched(packages: Sequence[Artifact], reason: str) -> PenstockError:
    what = ", ".join(map(str, packages))
    help = "check Maven's settings (~/.m2/settings.xml), or put the jars into Spark's 'jars' folder by hand"
    return PenstockError(Diagnostic(f"cannot fetch {what}", notes=(f"Maven says: {reason[:400]}",), help=help))
