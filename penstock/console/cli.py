"""The `penstock` command. Each command is thin: it reads files, calls the library, prints. Mistakes end with exit code
2 and no traceback."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from penstock import __version__
from penstock.console.bench import run_benchmark
from penstock.errors import PenstockError, unknown

app = typer.Typer(
    help="Continuous queries over streams that burst, answered within their delay.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
INTERRUPTED = 130
"""What a shell says of a command that Ctrl-C has ended."""
Script = Annotated[Path, typer.Argument(metavar="APP.CQL", help="The CQL script.")]


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"penstock {__version__}")
        raise typer.Exit


@app.callback()
def _all(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Continuous queries over streams that burst, answered within their delay."""


@app.command()
def check(script: Script) -> None:
    """Parse and bind a script; say what is wrong, where, and what to try, and which drops each query allows."""
    from penstock.cql import compile_script
    from penstock.shed.describe import allowed_drops

    network = compile_script(_read(script), str(script))
    counts = (("stream", network.streams), ("relation", network.relations))
    listed = ", ".join(f"{len(items)} {word}{'' if len(items) == 1 else 's'}" for word, items in counts)
    typer.echo(f"{script}: {listed}")
    if not network.queries:
        typer.echo("  no query: CREATE QUERY name AS SELECT ... asks for results")
    for query in network.queries:
        columns = ", ".join(f"{f.name} {f.type}" for f in query.root.schema)
        typer.echo(f"  {query.name}: {query.root.kind.value} ({columns})")
        for line in allowed_drops(query):
            typer.echo(f"      {line}")


@app.command()
def explain(
    script: Script,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    svg: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a picture.")] = None,
    raw: Annotated[bool, typer.Option(help="Show the plan before the rewrites.")] = False,
    lanes: Annotated[int, typer.Option(help="How many lanes to lay it out for: a run has one a core.")] = 2,
) -> None:
    """Show the network that a script's queries form: operators, sharing, stores, and what runs where on Spark; for a
    topology (.yaml), its nodes and loads."""
    if script.suffix in (".yaml", ".yml"):
        from penstock.cluster.describe import explain as explain_topology
        from penstock.cluster.reader import read_topology

        typer.echo(explain_topology(read_topology(script)))
        return
    from penstock.cql import compile_script
    from penstock.plan.explain import graph, to_json, to_svg, to_text
    from penstock.plan.rewrites import optimize
    from penstock.shed.describe import load_notes
    from penstock.spark.explain import described
    from penstock.spark.stages import staged

    network = compile_script(_read(script), str(script))
    network = network if raw else optimize(network)
    shown = graph(network, load_notes(network))
    if svg is not None:
        _write(svg, to_svg(shown))
    typer.echo(to_json(shown) if as_json else f"{to_text(shown)}\n\n{described(staged(network, lanes))}")


@app.command()
def run(
    script: Annotated[
        Path | None, typer.Argument(metavar="APP.CQL", help="The CQL script; --from-checkpoint knows its own.")
    ] = None,
    master: Annotated[
        str | None, typer.Option(help="Where Spark runs: local[N], spark://HOST:PORT, yarn, ...; all cores here.")
    ] = None,
    checkpoint: Annotated[str, typer.Option(metavar="DIR", help="Where the run's state lives.")] = "checkpoint",
    until_idle: Annotated[bool, typer.Option("--until-idle", help="End when the sources have nothing more.")] = False,
    close: Annotated[
        bool, typer.Option("--close", help="With --until-idle: close the windows that are still open, too.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print results and mistakes, nothing else.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a line of JSON for each batch.")] = False,
    dead_letters: Annotated[
        str | None, typer.Option(metavar="DIR", help="Where rows go that cannot be read; CHECKPOINT/dead-letters.")
    ] = None,
    metrics_port: Annotated[
        int | None, typer.Option(metavar="N", help="Serve Prometheus metrics at this port; 0: any.")
    ] = None,
    metrics_host: Annotated[str, typer.Option(metavar="HOST", help="The interface that serves them.")] = "0.0.0.0",
    log: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write a log, lines of JSON; '-' is standard error.")
    ] = None,
    log_level: Annotated[str, typer.Option(help="The least that it says: debug, info, warn, error.")] = "info",
    spark_log: Annotated[
        str, typer.Option(help="What Spark says on standard error: off, error, warn, info, debug.")
    ] = "error",
    shedding: Annotated[
        str, typer.Option(help="Whether rows are given up to keep delay targets: on, monitor (only said), off.")
    ] = "on",
    policy: Annotated[
        str, typer.Option(help="What is given up: auto, window, random, semantic, sampling, ...")
    ] = "auto",
    controller: Annotated[
        str | None, typer.Option(help="What decides how much: seamless, ctrl, aurora, off.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The seed of random drops.")] = 0,
    trigger: Annotated[float, typer.Option(metavar="SECONDS", help="The least time between two batches.")] = 0.0,
    packages: Annotated[
        list[str] | None, typer.Option(metavar="GROUP:ARTIFACT:VERSION", help="A Java package to bring along.")
    ] = None,
    conf: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="A setting for Spark.")] = None,
    from_checkpoint: Annotated[
        bool, typer.Option("--from-checkpoint", help="Continue a run; refuse to begin a new one.")
    ] = False,
    explain_recovery: Annotated[
        bool, typer.Option("--explain-recovery", help="Say what a restart would replay, and end.")
    ] = False,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A setting of ours (docs/settings.md).")
    ] = None,
) -> None:
    """Run a script's queries on Spark, until Ctrl-C (which lets the batch under way finish; twice ends at once)."""
    from penstock.console.continued import network_of
    from penstock.console.options import checked_level, run_options
    from penstock.console.run import Around, run_network

    text = None if script is None else _read(script)
    network = network_of(text, str(script), checkpoint, from_checkpoint)
    if explain_recovery:
        from penstock.spark.recovery import recovery

        typer.echo(recovery(checkpoint, network))
        return
    options = run_options(
        master=master, checkpoint=checkpoint, until_idle=until_idle, close=close, dead_letters=dead_letters,
        trigger_s=trigger, packages=tuple(packages or ()), conf=conf or (), settings=settings or (),
        mode=shedding, controller=controller, shed={"policy": policy}, seed=seed, rows_as_json=as_json,
        json_log=log is not None, spark_log=spark_log,
    )  # fmt: skip
    shown = "none" if quiet else "json" if as_json else "view"
    around = Around(shown, metrics_port, metrics_host, log, checked_level(log_level))
    run_network(network, str(script or checkpoint), options, around)


@app.command()
def plan(
    topology: Annotated[Path, typer.Argument(metavar="TOPOLOGY.YAML", help="Nodes, capacities, operators, streams.")],
    rates: Annotated[
        str | None, typer.Option(help="Input rates: 'a=120,b=80', or in the topology's order '120,80'.")
    ] = None,
    epsilon: Annotated[float, typer.Option(help="How far below the optimum a plan may stay, in percent.")] = 5.0,
    method: Annotated[str, typer.Option(help="c-fit, d-fit or solver.")] = "c-fit",
) -> None:
    """Plan distributed load shedding: which node drops what, the score, the optimum and the bound; without rates the
    tree that was planned for."""
    from penstock.cluster.describe import describe_plan, parse_rates
    from penstock.cluster.reader import read_topology

    inputs = tuple(i.name for i in read_topology(topology).inputs)
    given = None if rates is None else parse_rates(rates, inputs)
    typer.echo(describe_plan(topology, epsilon, given, method))


@app.command()
def demo(
    report: Annotated[Path, typer.Option(metavar="FILE", help="Where the report goes.")] = Path("penstock-demo.html"),
    picture: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the plots as SVG, too.")] = None,
) -> None:
    """Overload this machine, without and with shedding, in about a minute; leave a report with plots."""
    from penstock.console.demo import run_demo

    run_demo(report, picture)


@app.command()
def bench(
    name: Annotated[
        str | None, typer.Argument(help="lane, distributed, ..., or a part, control-lane; all of them when left out.")
    ] = None,
    json_file: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the figures as JSON.")] = None,
    full: Annotated[bool, typer.Option(help="Everything, not only the short version.")] = False,
    seed: Annotated[int, typer.Option(help="The seed of every generated input.")] = 0,
) -> None:
    """Measure, after checking the outputs; every figure with its bar and whether it holds."""
    run_benchmark(name, json_file, full, seed, typer.echo)


@app.command()
def doctor() -> None:
    """Say what is here to run with (Python, Java, Spark, memory, cores, disk, Kafka), and how to mend what is wrong."""
    from penstock.console.doctor import examine, healthy, report

    findings = examine()
    typer.echo(report(findings))
    if not healthy(findings):
        raise typer.Exit(1)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        siblings = [p.name for p in path.parent.glob("*.cql")] if path.parent.is_dir() else []
        if isinstance(error, FileNotFoundError):
            raise PenstockError(unknown("file", path.name, siblings)) from None
        raise PenstockError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise PenstockError(f"{path} is not a text in UTF-8") from None


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise PenstockError(f"cannot write {path}: {error.strerror}") from None


def main() -> int:
    """Runs the command line; the exit code is 2 for a mistake in what was given."""
    try:
        app()
    except PenstockError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    return 0
