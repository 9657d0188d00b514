from compiler.memory import Buffer, Plan, Step, check_plan, check_steps
from compiler.memory.views import Span, Views


def problems(plan: Plan, arena_bytes: int | None = None) -> list[str]:
    return [str(f) for f in check_plan(plan, arena_bytes)]


def test_overlap_of_live_buffers_is_found() -> None:
    plan = Plan((Buffer("a", 100, 0, 3, 0), Buffer("b", 10, 2, 4, 64)))
    assert problems(plan) == ["a, b: both are alive at step 2, in bytes 0..100 and 64..74"]


def test_overlap_in_time_or_in_space_alone_is_fine() -> None:
    plan = Plan((Buffer("a", 64, 0, 2, 0), Buffer("b", 64, 2, 4, 0), Buffer("c", 64, 0, 4, 64)))
    assert problems(plan) == []


def test_an_overlap_with_an_older_long_lived_buffer_is_found() -> None:
    plan = Plan(
        (
            Buffer("long", 64, 0, 9, 0),
            Buffer("short", 64, 1, 2, 64),
            Buffer("late", 64, 5, 6, 0),
        )
    )
    assert problems(plan) == ["long, late: both are alive at step 5, in bytes 0..64 and 0..64"]


def test_misalignment_and_places_outside_the_arena_are_found() -> None:
    plan = Plan((Buffer("a", 8, 0, 1, 32), Buffer("b", 8, 0, 1, -1), Buffer("c", 8, 0, 1, 128)))
    assert problems(plan, arena_bytes=130) == [
        "a: offset 32 is not a multiple of 64",
        "b: has no offset",
        "c: ends at 136, the arena ends at 130",
    ]


STEPS = [
    Step(writes=("x",)),
    Step(reads=("x",), writes=("y",), may_overwrite={"y": ("x",)}),
    Step(reads=("y",), writes=("z",), scratch={"t": 8}),
]


def test_steps_whose_reads_find_their_bytes_pass() -> None:
    places = {"x": (0, 64), "y": (0, 64), "z": (64, 64), "t": (128, 8)}
    assert check_steps(STEPS, places) == []


def test_a_read_after_overwriting_is_found() -> None:
    steps = [*STEPS, Step(reads=("x",), writes=("w",))]
    places = {"x": (0, 64), "y": (0, 64), "z": (64, 64), "t": (128, 8), "w": (192, 8)}
    assert [f.names for f in check_steps(steps, places)] == [("x",)]


def test_a_view_is_read_from_the_bytes_of_its_root() -> None:
    steps = [Step(writes=("x",)), Step(writes=("y",)), Step(reads=("v",))]
    apart = {"x": (0, 64), "y": (64, 64)}
    assert check_steps(steps, apart, Views({"v": "x"})) == []
    together = {"x": (0, 64), "y": (32, 64)}
    assert [f.names for f in check_steps(steps, together, Views({"v": "x"}))] == [("v",)]


def test_writing_over_an_operand_needs_a_declaration_and_the_same_bytes() -> None:
    places = {"x": (0, 64), "y": (0, 64)}
    undeclared = [Step(writes=("x",)), Step(reads=("x",), writes=("y",))]
    assert [f.names for f in check_steps(undeclared, places)] == [("y", "x")]
    shifted = {"x": (0, 64), "y": (32, 64)}
    assert [f.names for f in check_steps(STEPS[:2], shifted)] == [("y", "x")]


def test_scratch_over_an_operand_or_a_result_is_found() -> None:
    places = {"x": (0, 64), "y": (64, 64), "z": (128, 64), "t": (64, 8)}
    assert [f.names for f in check_steps(STEPS, places)] == [("t", "y")]
    places["t"] = (130, 8)
    assert [f.names for f in check_steps(STEPS, places)] == [("z", "t")]


JOIN = Views(joined={"w": (Span("a", 0, 64), Span("b", 64, 32))}, cut={"s": Span("w", 48, 40)})
PARTS = [Step(writes=("a",)), Step(writes=("b",)), Step(reads=("w", "s"), writes=("z",))]
PLACES = {"w": (128, 96), "a": (128, 64), "b": (192, 32), "s": (176, 40), "z": (0, 16)}


def test_parts_and_cuts_that_lie_where_they_belong_are_read() -> None:
    assert check_steps(PARTS, PLACES, JOIN) == []


def test_parts_and_cuts_elsewhere_are_found() -> None:
    for name, place in [("b", (200, 32)), ("s", (168, 40)), ("w", (128, 100)), ("b", (192, 40))]:
        faults = check_steps(PARTS, {**PLACES, name: place}, JOIN)
        assert any(name in f.names for f in faults), (name, place)


def test_a_part_that_is_overwritten_spoils_the_whole_and_what_is_cut_out_of_it() -> None:
    between = [*PARTS[:2], Step(writes=("y",)), *PARTS[2:]]
    faults = check_steps(between, {**PLACES, "y": (216, 8)}, JOIN)
    assert [f.names for f in faults] == [("w",), ("s",)]
    # The bytes of the slice are inside the buffer, those of b are not all.
    missing = check_steps([PARTS[0], PARTS[2]], PLACES, JOIN)
    assert [f.names for f in missing] == [("w",), ("s",)]


def test_a_joined_value_that_has_no_place_is_found() -> None:
    places = {name: place for name, place in PLACES.items() if name != "w"}
    assert [f.names for f in check_steps(PARTS, places, JOIN)] == [("w",)]
