"""Configuration: bad values are refused in one line that names the field, and it survives a file."""

import dataclasses
import json
import math

import pytest

from weyl.training.config import CHOICES, Config
from weyl.training.plan import plan

WHOLE = ("batch", "steps", "starts", "patience", "stop_after")
COUNTS = ("seed", "warmup", "burn_in")
POSITIVE = ("rate", "clip", "spread", "learned_rate")
NOT_NEGATIVE = ("ranking", "unit")
FLAGS = ("total", "learn_unit")
BAD = [
    *((name, value) for name in CHOICES for value in ("nonsense", "", None, 1, ["adam"])),
    *((name, value) for name in WHOLE for value in (0, -1, 2.0, 1.5, True, "3", None)),
    *((name, value) for name in COUNTS for value in (-1, 0.5, False, "3", None)),
    *((name, value) for name in POSITIVE for value in (0, -1.0, math.nan, math.inf, True, "1", None)),
    *((name, value) for name in NOT_NEGATIVE for value in (-0.1, math.nan, math.inf, False, "1")),
    *((name, value) for name in FLAGS for value in (0, 1, "true", None)),
    *(
        ("betas", value)
        for value in (0.9, (0.9,), (0.9, 1.0), (-0.1, 0.9), "ab", (0.9, "b"), None, (1, 2, 3))
    ),
]


@pytest.mark.parametrize("name, value", BAD)
def test_a_bad_value_is_one_line_that_names_the_field(name, value):
    with pytest.raises(ValueError) as problem:
        Config().with_({name: value})
    text = str(problem.value)
    assert text.startswith(f"{name}: expected ") and text.endswith(f"got {value!r}") and "\n" not in text


def test_every_field_is_checked():
    free = {"space", "metric"}  # by the spaces and metrics themselves
    assert {field.name for field in dataclasses.fields(Config)} - free == {name for name, _ in BAD}


@pytest.mark.parametrize(
    "wrong, near",
    [("rat", "rate"), ("step", "steps"), ("batchsize", "batch"), ("learning_unit", "learn_unit")],
)
def test_a_wrong_field_is_named_with_those_like_it(wrong, near):
    with pytest.raises(ValueError, match=rf"^config: no field '{wrong}'; did you mean [a-z_, ]*\b{near}\b"):
        Config().with_({wrong: 1})


def test_a_field_like_no_other_lists_all():
    with pytest.raises(ValueError, match="no field 'qqq'") as problem:
        Config().with_({"qqq": 1})
    assert all(field.name in str(problem.value) for field in dataclasses.fields(Config))


@pytest.mark.parametrize("name", CHOICES)
def test_every_choice_can_be_chosen(name):
    for value in CHOICES[name]:
        assert getattr(Config().with_({name: value}), name) == value


def test_it_survives_a_file():
    config = Config().with_({"betas": (0.5, 0.7), "rate": 0.1 + 0.2, "space": "upper(3)"})
    assert Config(**json.loads(json.dumps(config.to_json()))) == config


def test_it_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Config().rate = 1.0


# ── plan ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
SIZES = [(2, 1), (16, 120), (1000, 499_500), (10_000, 49_995_000), (100_000, 4_999_950_000)]
EFFORTS = ("quick", "normal", "best")


@pytest.mark.parametrize("nodes, pairs", SIZES)
@pytest.mark.parametrize("effort", EFFORTS)
def test_what_is_given_stays(nodes, pairs, effort):
    given = {"batch": 17, "steps": 3, "warmup": 2, "rate": 0.7, "starts": 5, "unit": 2.5}
    for recipe in ("default", "paper"):
        found = plan(Config(effort=effort, recipe=recipe), nodes, pairs, given)
        assert {name: getattr(found, name) for name in given} == given


@pytest.mark.parametrize("nodes, pairs", SIZES)
def test_more_effort_sees_more_pairs(nodes, pairs):
    quick, normal, best = (plan(Config(effort=effort), nodes, pairs, {}) for effort in EFFORTS)
    assert quick.steps <= normal.steps <= best.steps and quick.steps < best.steps
    assert quick.starts <= normal.starts <= best.starts


@pytest.mark.parametrize("effort", EFFORTS)
def test_a_run_stays_within_reach_of_a_patient_user(effort):
    """Work grows with the nodes only, never with their square, and a warm-up is a small part of a run."""
    seen = []
    for nodes, pairs in SIZES:
        found = plan(Config(effort=effort), nodes, pairs, {})
        assert found.warmup <= found.steps / 5
        seen.append(found.steps * min(found.batch, pairs) / nodes)
    assert max(seen[2:]) <= 1.001 * seen[2]


def test_a_short_run_warms_up_shortly():
    assert plan(Config(), 100, 4950, {"steps": 20}).warmup <= 4


def test_the_papers_recipe():
    found = plan(Config(recipe="paper"), 100, 4950, {})
    assert (found.objective, found.total, found.optimizer, found.movement) == (
        "paper",
        True,
        "sgd",
        "projection",
    )
    assert (found.schedule, found.burn_in, found.patience, found.stop_after) == ("plateau", 10, 50, 150)
    assert found.batch in (512, 1024, 2048) and found.clip in (10, 50, 250) and found.unit == 1
    assert found.steps == 3000 * -(-4950 // found.batch), "3000 epochs at most"
