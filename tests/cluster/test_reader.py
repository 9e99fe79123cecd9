"""Topologies from files and networks: what is read, and what is said when something is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.cluster.describe import describe_plan, explain, parse_rates
from penstock.cluster.planner import plan
from penstock.cluster.reader import parse_topology, read_topology
from penstock.cluster.topology import Input, Node, Operator, Topology, locations
from penstock.errors import PenstockError
from tests.cluster.networks import figure_5_1

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "topology"
BASE = "nodes: {{A: 1.0, B: 1.0}}\ninputs: {{r: }}\noperators:\n  f: {{node: A, cost: 2, from: r}}\n  {}\n"


def test_the_example_files_plan():
    for path in sorted(EXAMPLES.glob("*.yaml")):
        topology = read_topology(path)
        rates = {i.name: 3000.0 if "two" not in path.name else 1.0 for i in topology.inputs}
        selection = plan(topology, 5).choose(rates)
        assert 0 < selection.score <= selection.optimum
        assert selection.score >= 0.95 * selection.optimum


def test_two_nodes_is_figure_5_1():
    assert read_topology(EXAMPLES / "two-nodes.yaml") == figure_5_1()


# The marked text between the angle quotes is what the message must underline.
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("g: {node: «C», cost: 1, from: f}", "unknown node 'C'"),
        ("g: {node: B, cost: 1, from: «ff»}", "unknown stream 'ff'"),
        ("g: {node: B, cost: 1, selectivity: «-0.5», from: f}", "selectivity of operator 'g' is -0.5"),
        ("g: {node: B, cost: «-1», from: f}", "cost of operator 'g' is -1"),
        ("g: {node: B, cost: «much», from: f}", "cost of operator 'g' is not a number"),
        ("g: {node: B, «costs»: 1, from: f}", "unknown field of operators 'costs'"),
        ("«g»: {node: B, from: f}", "operator 'g' has no `cost`"),
        ("g: {node: B, cost: 1, from: [f, «h»]}\n  h: {node: B, cost: 1, from: g}", ""),
        ("g: {node: B, cost: 1, from: [f, «f»]}", "operator 'g' reads 'f' twice"),
        ("g: {node: B, cost: 1, from: f}\nqueries: {q: {from: «x»}}", "unknown operator 'x'"),
        ("g: {node: B, cost: 1, from: f}\nqueries: {q: {from: g, weight: «-1»}}", "weight of query 'q' is -1"),
        ("g: {node: B, cost: 1, from: f}\n«colour»: blue", "unknown section 'colour'"),
        ("g: {node: B, cost: 1, from: f}\n  «g»: {node: A, cost: 1, from: f}", "'g' comes twice in `operators`"),
    ],
)
def test_mistakes_are_placed(line, said):
    marked = BASE.format(line)
    start, text = marked.index("«"), marked.replace("«", "").replace("»", "")
    length = marked.index("»") - start - 1
    with pytest.raises(PenstockError) as caught:
        parse_topology(text, "t.yaml")
    found = caught.value.diagnostics[0]
    if said:
        assert said in found.message
        assert (found.span.start, found.span.end) == (start, start + length)
        row = text.count("\n", 0, start) + 1
        assert str(caught.value).startswith(f"t.yaml:{row}:")
    else:
        assert "cycle" in found.message
        assert found.span is not None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the description is empty"),
        ("nodes: {A: }\ninputs: {r: }\noperators: {f: {node: A, cost: 1, from: r}}", "node 'A' has no capacity"),
        ("nodes: {A: -1}\ninputs: {r: }\noperators: {f: {node: A, cost: 1, from: r}}", "capacity of node 'A' is -1"),
        ("nodes: {A: .inf}\ninputs: {r: }\noperators: {f: {node: A, cost: 1, from: r}}", "capacity of node 'A'"),
        ("nodes: {A: 1\n", "not YAML"),
        ("nodes: {A: 1}\x00", "not YAML: the character U.0000"),
        ("[" * 3000, "nested too deeply"),
        ("nodes: {A: 1e99}\ninputs: {r: }\noperators: {f: {node: A, cost: 1, from: r}}", "capacity of node 'A' is"),
        ("- A", "must be a mapping"),
        ("nodes: {A: 1}\ninputs: {r: , s: }\noperators: {f: {node: A, cost: 1, from: r}}",
         "no operator reads input 's'"),
        ("nodes: {A: 1}\ninputs: {r: }\noperators: {f->g: {node: A, cost: 1, from: r}}", "'->' in the name"),
        ("nodes: {A: 1}\noperators: {}", "needs at least one input"),
        ("nodes: {A: 1, B: 1}\ninputs: {r: {node: A}}\noperators: {f: {node: A, cost: 1, from: r},"
         " g: {node: B, cost: 1, from: f}, h: {node: A, cost: 1, from: g}}",
         "nodes feed each other in a cycle: A <- B <- A"),
        ("nodes: {A: 1, B: 1}\ninputs: {r: }\noperators: {f: {node: A, cost: 1, from: r},"
         " g: {node: B, cost: 1, from: r}}", "several nodes read input 'r'"),
    ],
)  # fmt: skip
def test_mistakes_are_explained(text, said):
    with pytest.raises(PenstockError, match=".*" + said.replace("->", "-.")):
        parse_topology(text, "t.yaml")


def test_long_chains_and_long_cycles_are_read():
    head = "nodes: {A: 1}\ninputs: {r: }\noperators:\n"
    lines = [f"  o{i}: {{node: A, cost: 0.001, from: o{i - 1}}}\n" for i in range(1, 1200)]
    assert len(parse_topology(f"{head}  o0: {{node: A, cost: 1, from: r}}\n{''.join(lines)}").operators) == 1200
    with pytest.raises(PenstockError, match="operators feed each other in a cycle: o0 <- o1199"):
        parse_topology(f"{head}  o0: {{node: A, cost: 1, from: [r, o1199]}}\n{''.join(lines)}")


def test_a_missing_file_is_named():
    with pytest.raises(PenstockError, match=r"cannot read nowhere\.yaml"):
        read_topology("nowhere.yaml")


@pytest.mark.parametrize("rates", [{"r1": 1.0}, {"r1": 1.0, "r2": 1.0, "r3": 1.0}, {"r1": -1.0, "r2": 1.0}, [1.0],
                                   {"r1": float("nan"), "r2": 1.0}, {"r1": float("inf"), "r2": 1.0}])  # fmt: skip
def test_bad_rates_are_refused(rates):
    with pytest.raises(PenstockError):
        plan(figure_5_1(), 5).select(rates)


@pytest.mark.parametrize(("epsilon", "method"), [(-1, "c-fit"), (100, "c-fit"), (float("nan"), "c-fit"), (5, "magic"),
                                                 (5, "solver-w")])  # fmt: skip
def test_bad_settings_are_refused(epsilon, method):
    with pytest.raises(PenstockError):
        plan(figure_5_1(), epsilon, method)


def test_describe_plan_says_who_drops_what():
    text = describe_plan(EXAMPLES / "two-nodes.yaml", 5, {"r1": 1, "r2": 1})
    assert "A  load 3 -> 1 of 1  overloaded\n    drop 80% at r1\n    drop 60% at r2" in text
    assert "B  load 4 -> 1 of 1  overloaded\n    drops nothing" in text
    assert "score    0.6\noptimum  0.6\ngap      0%" in text
    assert "every plan is within 0% of the optimum" in text


def test_describe_plan_without_rates_draws_the_tree():
    assert "sends a1->b1 to B" in describe_plan(EXAMPLES / "two-nodes.yaml", 5)


def test_explain_draws_the_tree_with_loads():
    lines = explain(read_topology(EXAMPLES / "tree.yaml"), {"north": 4000, "south": 2500}).splitlines()
    assert lines[0].startswith("edge  load 2.51 of 2 (125.5%)  overloaded")
    assert [line.split()[0] for line in lines if " load " in line] == ["edge", "billing", "archive", "alarms"]
    assert any(line.strip() == "branch all_sites->threshold" for line in lines)


def test_rates_from_the_command_line():
    assert parse_rates("1,2", ("a", "b")) == {"a": 1.0, "b": 2.0}
    for text in ("1", "a=x,b=1", "a=1,2", "", "a=1,b=2,a=3"):
        with pytest.raises(PenstockError):
            parse_rates(text, ("a", "b"))


def test_branches_that_meet_again_are_no_drop_locations():
    """Section 5.2.2: not a split case; a third branch that stays apart is one."""
    reads = {"f": ("r",), "g": ("f",), "h": ("f",), "u": ("g", "h"), "apart": ("f",)}
    topology = Topology(
        (Node("A", 1.0),), (Input("r"),), tuple(Operator(n, "A", 1.0, 1.0, s) for n, s in reads.items())
    )
    assert [p.name for p in locations(topology)] == ["r", "f->apart"]
