"""A model is tried again where that is worth it, visibly, and not for ever."""

import pytest

from memory.errors import (
    ContextOverflow,
    ModelAnswerEmpty,
    ModelCut,
    ModelError,
    ModelOverloaded,
    ModelQuota,
    ModelRefused,
    ModelTimeout,
    ModelUnreachable,
    UnknownModel,
)
from memory.models.backoff import Backoff, is_worth_another_try, persistent
from memory.models.chat import complete

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier"),
    pytest.mark.filterwarnings("ignore:Accessing the .* attribute on the instance is deprecated"),
]


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self):
        self.now = 0.0
        self.slept = []

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds


def tried(call, backoff, chance=1.0):
    """What came, what was told, what was slept."""
    clock, told = Clock(), []

    def note(error, attempt, again_in_s):
        told.append((type(error).__name__, attempt, again_in_s))

    try:
        came = persistent(call, backoff, note, sleep=clock.sleep, chance=lambda: chance, clock=clock)
    except ModelError as error:
        came = error
    return came, told, clock.slept


def failing(*errors, then="fine"):
    left = list(errors)

    def call():
        if left:
            raise left.pop(0)
        return then

    return call


@pytest.mark.parametrize("error", [ModelOverloaded, ModelUnreachable, ModelTimeout, lambda m: ModelCut(m)])
def test_what_may_pass_is_tried_again(error):
    came, told, slept = tried(failing(error("x"), error("x")), Backoff())
    assert came == "fine"
    assert [attempt for _, attempt, _ in told] == [1, 2]
    assert slept == [again for _, _, again in told] == [1.0, 2.0]


@pytest.mark.parametrize(
    "error",
    [ModelRefused("x"), ModelQuota("x"), ContextOverflow("x"), ModelAnswerEmpty("x"), UnknownModel("x"),
     ModelError("x"), ModelCut("x", "half an ans")],
    ids=lambda e: type(e).__name__,
)  # fmt: skip
def test_what_stays_is_not(error):
    assert not is_worth_another_try(error)
    came, told, slept = tried(failing(error), Backoff())
    assert came is error
    assert told == [(type(error).__name__, 1, None)]
    assert slept == []


def test_waits_grow_up_to_the_longest_and_the_tries_end():
    came, told, slept = tried(failing(*[ModelTimeout("x")] * 99), Backoff(1_000, tries=8, longest_s=10))
    assert isinstance(came, ModelTimeout)
    assert slept == [1, 2, 4, 8, 10, 10, 10]
    assert told[-1] == ("ModelTimeout", 8, None)


def test_no_try_begins_after_the_total():
    _, _, slept = tried(failing(*[ModelTimeout("x")] * 99), Backoff(total_s=6.5))
    assert slept == [1, 2]  # the next wait of 4 s would end at 7
    assert tried(failing(ModelTimeout("x")), Backoff(total_s=0))[2] == []


def test_chance_takes_up_to_half_of_a_wait_off():
    assert tried(failing(ModelTimeout("x")), Backoff(), chance=0.0)[2] == [0.5]


def busy(retry_after_s):
    error = ModelOverloaded("x")
    error.retry_after_s = retry_after_s
    return error


@pytest.mark.parametrize("chance", [0.0, 1.0])
def test_what_the_provider_asks_to_wait_is_waited_at_least(chance):
    [slept] = tried(failing(busy(12.0)), Backoff(), chance)[2]
    assert 12.0 <= slept <= 12.25


def test_a_provider_that_asks_for_too_long_is_given_up_at_once():
    came, told, slept = tried(failing(busy(3_600.0)), Backoff())
    assert isinstance(came, ModelOverloaded)
    assert (told, slept) == ([("ModelOverloaded", 1, None)], [])


def asking(server, on_text=None):
    message = [{"role": "user", "content": "Hi"}]
    return lambda: complete("openai/test", message, options=server.options, timeout_s=1, on_text=on_text)


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_over_http_a_busy_server_answers_at_the_third_try(server, streamed):
    server.in_turn(
        lambda s: s.fails(429, "Rate limit reached", headers={"retry-after": "3"}),
        lambda s: s.hangs_up(),
        lambda s: s.says("At last."),
    )
    heard = []
    came, told, slept = tried(asking(server, heard.append if streamed else None), Backoff(), chance=0.0)
    assert came.text == "At last."
    assert heard == ([] if not streamed else heard)
    assert "".join(heard) in {"", "At last."}
    assert [name for name, _, _ in told] == ["ModelOverloaded", "ModelUnreachable"]
    assert slept == [3.0, 1.0]
    assert len(server.asked) == 3


def test_over_http_a_wrong_key_is_asked_once(server):
    server.fails(401, "Incorrect API key provided", "invalid_api_key")
    came, _, slept = tried(asking(server), Backoff())
    assert isinstance(came, ModelRefused)
    assert (len(server.asked), slept) == (1, [])


def test_over_http_an_answer_whose_beginning_was_read_is_not_asked_for_again(server):
    server.breaks_off("The budget is", "hangs up")
    came, _, slept = tried(asking(server, lambda text: None), Backoff())
    assert isinstance(came, ModelCut)
    assert (len(server.asked), slept) == (1, [])
