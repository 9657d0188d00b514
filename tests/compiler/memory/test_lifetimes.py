import random

from compiler.memory import Step, check_plan, check_steps, join_lifetimes, plan_memory
from compiler.memory.views import Span, Views


def test_a_value_lives_from_its_launch_until_after_its_last_read() -> None:
    steps = [
        Step(reads=("input",), writes=("a",)),
        Step(reads=("a",), writes=("b",), scratch={"1.t": 8}),
        Step(reads=("a", "b"), writes=("result",)),
    ]
    found = join_lifetimes(steps, {"a": 64, "b": 32})
    assert [(b.name, b.size, b.start, b.end) for b in found.buffers] == [
        ("a", 64, 0, 3),
        ("b", 32, 1, 3),
        ("1.t", 8, 1, 2),
    ]


def test_reading_a_view_keeps_its_root_alive() -> None:
    steps = [Step(writes=("a",)), Step(writes=("b",)), Step(reads=("v2",), writes=("c",))]
    found = join_lifetimes(steps, {"a": 8, "b": 8, "c": 8}, Views({"v1": "a", "v2": "v1"}))
    a = found.buffers[0]
    assert (a.start, a.end, a.values) == (0, 3, ("a", "v1", "v2"))
    assert found.homes["v2"] == "a"


def test_a_chain_of_in_place_launches_is_one_buffer() -> None:
    steps = [
        Step(writes=("a",)),
        Step(reads=("a",), writes=("b",), may_overwrite={"b": ("a",)}),
        Step(reads=("b",), writes=("c",), may_overwrite={"c": ("b",)}),
    ]
    found = join_lifetimes(steps, dict.fromkeys("abc", 16))
    assert [(b.name, b.start, b.end, b.values) for b in found.buffers] == [
        ("a", 0, 3, ("a", "b", "c"))
    ]
    assert found.overwritten == {"b": "a", "c": "b"}


def test_an_operand_that_is_read_later_is_not_overwritten() -> None:
    step = Step(reads=("a",), writes=("b",), may_overwrite={"b": ("a",)})
    later = Step(reads=("a", "b"), writes=("c",))
    found = join_lifetimes([Step(writes=("a",)), step, later], dict.fromkeys("abc", 16))
    assert found.overwritten == {}
    viewed = Step(reads=("view", "b"), writes=("c",))
    found = join_lifetimes(
        [Step(writes=("a",)), step, viewed], dict.fromkeys("abc", 16), Views({"view": "a"})
    )
    assert found.overwritten == {}


def test_other_sizes_and_values_outside_the_arena_are_not_overwritten() -> None:
    step = Step(reads=("a", "x"), writes=("b",), may_overwrite={"b": ("x", "a")})
    found = join_lifetimes([Step(writes=("a",)), step], {"a": 32, "b": 16})
    assert found.overwritten == {}


def test_two_results_never_take_over_the_same_operand() -> None:
    step = Step(reads=("a",), writes=("b", "c"), may_overwrite={"b": ("a",), "c": ("a",)})
    found = join_lifetimes([Step(writes=("a",)), step], dict.fromkeys("abc", 16))
    assert found.overwritten == {"b": "a"}
    assert found.homes == {"a": "a", "b": "a", "c": "c"}


def test_random_programs_planned_and_followed_step_by_step_have_no_fault() -> None:
    chance = random.Random(7)
    for _ in range(60):
        steps, sizes, views, known = [], {}, {}, []
        for n in range(chance.randint(1, 15)):
            reads = tuple(chance.sample(known, min(len(known), chance.randint(0, 3))))
            out = f"v{n}"
            sizes[out] = chance.choice([0, 40, 64, 200])
            over = {out: tuple(r for r in reads if chance.random() < 0.6)}
            scratch = {f"{n}.s": 24} if chance.random() < 0.3 else {}
            steps.append(Step(reads, (out,), scratch, over))
            known.append(out)
            if chance.random() < 0.3:
                views[f"w{n}"] = out
                known.append(f"w{n}")
        found = join_lifetimes(steps, sizes, Views(views))
        plan = plan_memory(found.buffers)
        assert check_plan(plan) == []
        places = {v: (plan.offset_of(h), sizes[v]) for v, h in found.homes.items() if v in sizes}
        places |= {s: (plan.offset_of(s), 24) for step in steps for s in step.scratch}
        assert check_steps(steps, places, Views(views)) == []
        for value, victim in found.overwritten.items():
            assert places[value] == places[victim]


def test_steps_that_run_at_once_touch_different_memory() -> None:
    steps = [
        Step(writes=("a",)),
        Step(reads=("a",), writes=("b",), scratch={"1.t": 4}, may_overwrite={"b": ("a",)}),
        Step(reads=("b",), writes=("c",), may_overwrite={"c": ("b",)}),
        Step(reads=("a",), writes=("d",)),
        Step(reads=("c", "d"), writes=("e",), may_overwrite={"e": ("c",)}),
    ]
    # c depends on b, and d on nothing: d may begin at any time before e.
    found = join_lifetimes(steps, dict.fromkeys("abcde", 16), until={1: 3, 2: 3, 3: 3})
    assert [(b.name, b.start, b.end) for b in found.buffers] == [
        ("a", 0, 4),
        ("b", 1, 5),
        ("d", 3, 5),
        ("1.t", 1, 4),
    ]
    assert found.overwritten == {"c": "b", "e": "c"}
    # If d depends on b, the memory that b read and used is free again.
    found = join_lifetimes(steps, dict.fromkeys("abcde", 16), until={1: 1, 2: 3, 3: 3})
    assert [(b.name, b.start, b.end) for b in found.buffers] == [
        ("a", 0, 4),
        ("b", 1, 5),
        ("d", 3, 5),
        ("1.t", 1, 2),
    ]
    assert found.overwritten == {"c": "b", "e": "c"}


def test_a_joined_value_lives_from_the_first_write_of_a_part() -> None:
    steps = [
        Step(writes=("a",)),
        Step(reads=("a",), writes=("c",), may_overwrite={"c": ("a",)}),
        Step(reads=("c",), writes=("b",), may_overwrite={"b": ("c",)}),
        Step(reads=("w",), writes=("d",), may_overwrite={"d": ("w",)}),
        Step(reads=("s",), writes=("e",), may_overwrite={"e": ("s",)}),
    ]
    views = Views(joined={"w": (Span("a", 0, 64), Span("b", 64, 64))}, cut={"s": Span("d", 64, 64)})
    found = join_lifetimes(steps, {"a": 64, "b": 64, "c": 64, "d": 128, "e": 64}, views)
    assert [(b.name, b.size, b.start, b.end) for b in found.buffers] == [
        ("w", 128, 0, 5),
        ("c", 64, 1, 3),
        ("e", 64, 4, 5),
    ]
    assert found.overwritten == {"d": "w"}
    assert found.starts == {"b": 64, "s": 64}


def test_random_programs_with_joined_and_cut_values_have_no_fault() -> None:
    chance = random.Random(11)
    n_joined = 0
    for _ in range(80):
        steps, sizes, known, joined, cut = [], {}, [], {}, {}
        free, every = [], {}
        for n in range(chance.randint(2, 20)):
            reads = tuple(chance.sample(known, min(len(known), chance.randint(0, 3))))
            out = f"v{n}"
            sizes[out] = every[out] = chance.choice([40, 64, 128, 192])
            over = {out: tuple(r for r in reads if chance.random() < 0.6)}
            steps.append(Step(reads, (out,), {}, over))
            known.append(out)
            free.append(out)
            if len(free) > 2 and chance.random() < 0.4:
                spans, end = [], 0
                for part in chance.sample(free, 2):
                    free.remove(part)
                    spans.append(Span(part, end, every[part]))
                    end += every[part]
                joined[f"w{n}"], every[f"w{n}"] = tuple(spans), end
                known.append(f"w{n}")
                free.append(f"w{n}")
            if chance.random() < 0.3:
                of = chance.choice(known)
                start = chance.randrange(every[of])
                every[f"s{n}"] = chance.randint(1, every[of] - start)
                cut[f"s{n}"] = Span(of, start, every[f"s{n}"])
                known.append(f"s{n}")
        n_joined += len(joined)
        views = Views(cut=cut, joined=joined)
        found = join_lifetimes(steps, sizes, views)
        plan = plan_memory(found.buffers, alignment_bytes=1)
        assert check_plan(plan) == []
        places = {
            v: (plan.offset_of(h) + found.starts.get(v, 0), every[v])
            for v, h in found.homes.items()
        }
        assert check_steps(steps, places, views) == []
    assert n_joined > 50
