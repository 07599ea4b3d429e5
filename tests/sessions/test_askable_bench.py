from memory.askable import SIGNS, odds
from memory.bookmarks import PageWords
from sessions.askable_bench import asked_words, fitted

OWN = ["greyhound", "canoe", "violin", "orchard", "compass", "lantern", "saddle", "anvil"]
SAID = ["weather", "traffic", "market", "budget", "council", "harbour", "engine", "stadium"]
PAGES = [
    PageWords(n, (f"I bought the {a}.", f"They discuss {b}.")) for n, (a, b) in enumerate(zip(OWN, SAID, strict=True))
]


def test_what_questions_say_of_their_page_is_labelled():
    signs, said = asked_words(PAGES[:2], [("Who bought the greyhound, and who the canoe?", frozenset({0}))])
    assert signs.shape == (len(said), len(SIGNS))
    assert said.sum() == 2  # bought and greyhound of page 0; the canoe is not said there


def test_the_fit_learns_how_the_words_that_are_asked_for_are_said():
    parts = [asked_words(PAGES, [(f"What of the {word}?", frozenset({n})) for n, word in enumerate(OWN)])]
    weights = fitted(parts)
    by_sign = dict(zip(SIGNS, weights[1:], strict=True))
    assert by_sign["fixed"] > 0
    signs, said = parts[0]
    told = [odds(row, weights) for row in signs]
    assert min(p for p, s in zip(told, said, strict=True) if s) > max(
        p for p, s in zip(told, said, strict=True) if not s
    )
