"""Tests of the contract of all fusion policies."""

from __future__ import annotations

import pytest

from compiler.ir.graph import Graph
from compiler.ir.verify import verify
from compiler.passes import PASSES
from compiler.passes.engine.rule import example_graphs
from compiler.passes.fusion.fuse import carried_out
from compiler.passes.fusion.policies import POLICIES
from compiler.passes.fusion.policy import Limits, Policy
from compiler.trace import Log
from tests.compiler.passes.networks import NETWORKS
from tests.compiler.passes.numbers import applied, assert_same_results, plain, random_inputs

each_policy = pytest.mark.parametrize("policy", POLICIES.values(), ids=list(POLICIES))
each_network = pytest.mark.parametrize("network", NETWORKS.values(), ids=list(NETWORKS))


def fused(policy: Policy, graph: Graph, log: Log | None = None) -> Graph:
    """Return the graph after the pass with this policy and its default limits."""
    log = Log() if log is None else log
    return carried_out(policy.plan(graph, Limits(32, True), log), log)


def test_the_choices_of_the_pass_are_the_policies() -> None:
    assert PASSES["fuse"].options["policy"].choices == tuple(POLICIES)


@each_policy
def test_the_example_holds_in_text_and_numbers(policy: Policy) -> None:
    before, expected = example_graphs(policy.example)
    after = fused(policy, before)
    verify(after)
    assert plain(after) == plain(expected)
    for seed in range(3):
        assert_same_results(before, after, random_inputs(before, seed), error=0)


@each_policy
def test_a_policy_has_words_and_says_what_it_is_like(policy: Policy) -> None:
    assert policy.title.endswith((".", ":"))
    assert policy.like
    assert policy.source.startswith(f"passes/fusion/{policy.name}.py:")


@each_policy
@each_network
def test_networks_keep_their_numbers(policy: Policy, network: Graph) -> None:
    after = fused(policy, network)
    verify(after)
    assert_same_results(network, after, random_inputs(network), error=0)


@each_policy
@each_network
def test_a_second_run_changes_nothing(policy: Policy, network: Graph) -> None:
    once = fused(policy, network)
    log = Log()
    assert fused(policy, once, log) is once
    assert not applied(log.steps)


@each_policy
@each_network
def test_a_policy_that_is_refused_everything_changes_nothing(
    policy: Policy, network: Graph
) -> None:
    log = Log(gate=lambda decision: False)
    assert fused(policy, network, log) is network
    assert not applied(log.steps)


@each_policy
@each_network
def test_every_pair_that_is_not_fused_has_one_reason(policy: Policy, network: Graph) -> None:
    log = Log()
    after = fused(policy, network, log)
    declined = [s.took for s in log.steps if s.outcome == "declined" and len(s.took) == 2]
    assert len(set(declined)) == len(declined)
    kernel_of = {}
    for n in after.nodes:
        inside = n.regions["body"].nodes if n.op == "fusion" else [n]
        kernel_of.update((o, n.output) for i in inside for o in i.outputs)
    for user in network.nodes:
        for value in user.reads:
            maker = network.producers.get(value)
            if maker is None or (user.output not in kernel_of):
                continue
            apart = kernel_of.get(value) != kernel_of[user.output]
            copied = any(s.rule == "copy_cheap_producer" for s in log.steps)
            if apart and not copied:
                assert (maker.output, user.output) in declined


@each_policy
def test_a_policy_gives_the_same_groups_twice(policy: Policy) -> None:
    for network in NETWORKS.values():
        first = fused(policy, network)
        assert str(fused(policy, network)) == str(first)
