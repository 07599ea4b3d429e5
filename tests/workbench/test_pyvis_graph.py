"""pyvis' page made harmless and whole, whatever the words are; and a layout that stays."""

import json
import re
from dataclasses import dataclass
from html import unescape
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from workbench.pyvis_graph import DASHES, SHAPES, drawn, frame, library, page, places


@dataclass(frozen=True)
class Node:
    id: str
    kind: str = "claim"
    label: str = "tea"
    text: str = "likes tea"
    rank: float = 0.5
    over: bool = False


@dataclass(frozen=True)
class Edge:
    source: str
    target: str
    kind: str = "topical"
    label: str = ""

    @property
    def id(self) -> str:
        return f"{self.source}>{self.target}:{self.kind}"


HOSTILE = [
    "</script><img src=x onerror=alert(1)>",
    "<a href='javascript:alert(1)'>href</a>",
    "--><script>alert(1)</script><!--",
    "{{7*7}}{% raw %}",
    "</details></td><iframe srcdoc='<script>alert(1)</script>'>",
    "\"'`;alert(1)//",
    "\u202egnp.exe\u2028x",
    '<link rel=stylesheet href="https://example.com/x.css">',
    "</body></html><head><body>",
]


class Read(HTMLParser):
    """Every tag with its attributes, and the text of scripts apart from all other text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text: list[str] = []
        self._in = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._in = tag if tag in ("script", "style") else ""

    def handle_endtag(self, tag: str) -> None:
        self._in = ""

    def handle_data(self, data: str) -> None:
        (self.scripts if self._in == "script" else self.text).append(data)


def made(words: str) -> str:
    nodes = [Node(words, label=words, text=words), Node("f2", kind="entity", text=words)]
    edges = [Edge(words, "f2", label=words)]
    return page(nodes, edges, {words: (0.0, 0.0), "f2": (9.0, 9.0)}, title=words, reasons={"f2": words})


def harmless(html: str) -> Read:
    read = Read(html)
    plain = Read(page([Node("a")], [], {"a": (0.0, 0.0)}, title="t"))
    assert {tag for tag, _ in read.tags} <= {tag for tag, _ in plain.tags}
    assert len(read.scripts) == len(plain.scripts)
    for _, attributes in read.tags:
        assert not {"src", "href", "srcdoc", "action", "data", "background"} & attributes.keys()
        assert not [name for name in attributes if name.startswith("on")]
    assert [s for s in read.scripts if "alert(1)" in re.sub(r'"(?:[^"\\]|\\.)*"', '""', s)] == []
    return read


@pytest.mark.parametrize("words", HOSTILE)
def test_words_in_every_field_are_neither_tags_nor_script(words: str):
    read = harmless(made(words))
    told = unescape("".join(read.text))
    assert re.sub(r"[\u2028\u202e]", "�", words) in told


@given(some.text(alphabet=some.sampled_from("<>/\"'`=;{}()- \n\\&scriptonerh\u2028"), min_size=1, max_size=60))
@settings(max_examples=25, deadline=None)
def test_no_words_at_all_make_a_tag(words: str):
    harmless(made(f"x{words}"))


def test_the_page_fetches_nothing_and_says_so_to_the_browser():
    html = made("tea")
    read = harmless(html)
    policies = [a["content"] for t, a in read.tags if t == "meta" and "http-equiv" in a]
    assert policies == ["default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"]
    first = next(i for i, (tag, _) in enumerate(read.tags) if tag in ("script", "style"))
    assert any("http-equiv" in a for _, a in read.tags[:first]), "the policy stands before all that it is about"
    ours = html.replace(library(), "")
    assert not re.search(r"https?:|//cdn", ours)


def test_pyvis_own_page_is_what_it_is_made_from_and_would_fetch():
    from pyvis.network import Network

    raw = Network(cdn_resources="local").generate_html()
    assert "https://cdn" in raw
    assert 'id="mynetwork"' in raw
    assert 'id="mynetwork"' in made("tea")


def test_the_numbers_of_the_drawing_come_through_whole():
    scripts = Read(made("茶 & <tea>")).scripts
    held = next(s for s in scripts if "vis.DataSet(" in s and "drawGraph()" in s)
    nodes = json.loads(re.search(r"nodes = new vis\.DataSet\((\[.*\])\);", held)[1])
    assert [n["says"] for n in nodes] == ["茶 & <tea>", "茶 & <tea>"]
    assert all("title" not in n for n in nodes), "vis-network reads a title as more than text in some versions"
    assert '"physics": {"enabled": false}' in held


def test_in_a_notebook_it_is_a_frame_that_reaches_nothing_around_it():
    html = made("</iframe><img src=x onerror=alert(1)>")
    read = Read(frame(html))
    assert [tag for tag, _ in read.tags] == ["iframe"]
    attributes = read.tags[0][1]
    assert attributes["sandbox"] == "allow-scripts"
    assert attributes["srcdoc"] == html


def test_two_edges_between_two_nodes_are_both_drawn_and_told_apart():
    nodes = [Node("a"), Node("b", over=True)]
    edges = [Edge("a", "b", "topical"), Edge("a", "b", "updates"), Edge("b", "a", "causal")]
    shown, lines, options = drawn(nodes, edges, {"a": (0.0, 0.0), "b": (1.0, 1.0)})
    assert [line["id"] for line in lines] == [edge.id for edge in edges]
    assert [line["dashes"] for line in lines] == [DASHES["topical"], DASHES["updates"], False]
    assert shown[0]["color"]["background"] != shown[1]["color"]["background"]
    assert options["physics"] == {"enabled": False}


def test_each_kind_has_a_shape_of_its_own():
    assert len(set(SHAPES.values())) == len(SHAPES)


# ── places ────────────────────────────────────────────────────────────────────────────────────────────

RING = [f"n{i}" for i in range(30)]
LINES = [(a, b) for a, b in zip(RING, RING[1:] + RING[:1], strict=True)]


def test_the_same_graph_is_laid_out_the_same():
    assert places(RING, LINES, {}) == places(RING, LINES, {})


def test_laying_out_takes_nothing_from_the_randomness_of_others():
    import random

    random.seed(7)
    expected = random.random()
    random.seed(7)
    places(RING, LINES, {})
    assert random.random() == expected


def test_what_stays_keeps_its_place_and_what_comes_stands_beside_its_neighbour():
    before = places(RING, LINES, {})
    after = places([*RING, "new"], [*LINES, ("new", "n3")], before)
    assert {node: after[node] for node in RING} == before
    far = {node: (after["new"][0] - x) ** 2 + (after["new"][1] - y) ** 2 for node, (x, y) in before.items()}
    assert sorted(far, key=far.get).index("n3") < 4


def test_what_leaves_moves_nobody():
    before = places(RING, LINES, {})
    assert places(RING[5:], LINES, before) == {node: before[node] for node in RING[5:]}


def test_where_most_is_new_all_is_laid_out_anew_and_nothing_lies_on_another():
    before = places(RING[:3], LINES, {})
    after = places(RING, LINES, before)
    assert len(set(after.values())) == len(RING)


def test_nothing_is_nowhere():
    assert places([], [], {"a": (0.0, 0.0)}) == {}
    assert places(["a"], [("a", "a"), ("a", "gone")], {}).keys() == {"a"}
