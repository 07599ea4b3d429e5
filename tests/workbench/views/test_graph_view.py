"""The graph as it is looked at: which nodes are shown, one of them whole, and those behind an answer."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from memory import Engine
from memory.errors import NotFound, UnknownName
from memory.facts import Candidate
from memory.longterm import LongTerm
from memory.models.chat import Answer
from memory.scope import Scope
from memory.stores.sql import Store
from workbench import inline
from workbench.views.graph import (
    KINDS,
    MOST,
    WHOLE,
    GraphEdge,
    GraphNode,
    GraphView,
    asked,
    behind,
    draw,
    edge,
    graph,
    lines,
    node,
    rows,
)

AT = datetime(2026, 3, 2, 9, 14, tzinfo=UTC)
TRIP = Scope("ana", "trip")


def answer(*_: object, **__: object) -> Answer:
    return Answer("All right, noted for later.", (), 1, 1, 0.0, "stop", "x", 1.0)


@pytest.fixture
def engine(tmp_path: Path):
    settings = {"window_tokens": 2_000, "page_turns": 2, "reply_tokens": 200}
    with Engine.open(tmp_path, user="ana", conversation="trip", chat=answer, **settings) as opened:
        for said in ("Let us plan the trip to Lyon.", "The train leaves from Paris.", "And a hotel with a garden?"):
            opened.say(said)
        yield opened


@pytest.fixture
def store(engine: Engine) -> Store:
    return engine.store


@pytest.fixture
def ana(store: Store) -> LongTerm:
    memory = LongTerm(store, "ana", "trip")
    memory.write("My sister Ann lives in Rome.", at=AT)
    memory.write("My budget is 5000 euros. I live in Lyon.", at=AT + timedelta(days=1))
    return memory


# ── what is there ─────────────────────────────────────────────────────────────────────────────────────


def test_facts_pages_bookmarks_and_who_they_are_about_are_nodes(store: Store, ana: LongTerm):
    view = graph(store, TRIP)
    kinds = {n.kind for n in view.nodes}
    assert {"entity", "claim", "page"} <= kinds <= set(KINDS)
    assert {n.text for n in view.nodes if n.kind == "claim"} == {
        ana.text(f) for f in ana.facts(all_states=True) if f.layer != "episodic"
    }
    assert all(e.source in view.by_id and e.target in view.by_id for e in view.edges)
    assert max(n.rank for n in view.nodes) == 1


def test_no_edge_comes_twice_and_each_node_says_how_many_it_has(store: Store, ana: LongTerm):
    view = graph(store, TRIP)
    assert len({e.id for e in view.edges}) == len(view.edges)
    for each in view.nodes:
        assert each.edges == len(view.touching.get(each.id, ()))


def test_what_holds_no_more_is_marked_and_can_be_left_out(store: Store, ana: LongTerm):
    old = next(f for f in ana.facts() if "budget" in ana.text(f))
    ana.update(old.id, "8000 euros", since=AT + timedelta(days=9))
    view = graph(store, TRIP)
    assert view.by_id[old.name].over
    assert old.name in {n.id for n in draw(view).nodes}
    assert old.name not in {n.id for n in draw(view, holding=True).nodes}
    assert any(e.kind == "updates" and e.target == old.name for e in view.edges)


def test_another_conversation_s_working_fact_is_no_node(store: Store, ana: LongTerm):
    LongTerm(store, "ana", "other").write(
        Candidate("Booking for Zelda", 0, 9, subject="Zelda", attribute="hotel", value="Ritz", layer="working")
    )
    view = graph(store, TRIP)
    assert "Zelda" not in repr(view.nodes)


def test_another_user_s_facts_are_no_nodes(store: Store, ana: LongTerm):
    LongTerm(store, "bo").write("I live in Oslo.", at=AT)
    assert "Oslo" not in repr(graph(store, TRIP).nodes)


def test_without_facts_the_pages_are_the_graph(store: Store):
    view = graph(store, TRIP)
    assert {n.kind for n in view.nodes} <= {"page", "bookmark"}
    assert view.nodes


def test_a_run_that_is_not_there_is_not_found(store: Store):
    with pytest.raises(NotFound):
        graph(store, Scope("ana", "nowhere"))


# ── what is shown of it ───────────────────────────────────────────────────────────────────────────────


def made(n: int, *extra: tuple[str, str]) -> GraphView:
    """A chain of `n` claims a day apart, all about one entity; the first weighs most of the claims."""
    first = date(2026, 1, 1)
    claims = [
        GraphNode(f"f{i}", "claim", f"c{i}", f"claim number {i}", 1 / (i + 1), 2, "active", False,
                  first + timedelta(days=i), i)
        for i in range(1, n)
    ]  # fmt: skip
    hub = GraphNode("e:ana", "entity", "ana", "ana", 1.0, n - 1)
    pairs = [(f"f{i}", f"f{i + 1}") for i in range(1, n - 1)]
    edges = [GraphEdge(f"{a}>{b}:temporal", a, b, "temporal", 0.5, "") for a, b in (*pairs, *extra)]
    return GraphView(TRIP, (hub, *claims), tuple(edges))


def test_up_to_five_hundred_nodes_are_shown_whole_and_one_more_is_a_neighbourhood():
    whole, more = draw(made(WHOLE)), draw(made(WHOLE + 1))
    assert (len(whole.nodes), whole.centre, whole.left) == (WHOLE, "", 0)
    assert len(more.nodes) < WHOLE
    assert more.centre == "e:ana"
    assert more.left == WHOLE + 1 - len(more.nodes)


def test_a_neighbourhood_goes_as_far_as_it_is_asked_to():
    view = made(900)
    for depth in (1, 2, 3):
        shown = {n.id for n in draw(view, centre="f100", depth=depth).nodes}
        assert shown == {f"f{i}" for i in range(100 - depth, 101 + depth)}


def test_everything_is_capped_and_says_what_is_left():
    drawing = draw(made(MOST + 50), depth=0)
    assert (len(drawing.nodes), drawing.left) == (MOST, 50)
    kept = {n.rank for n in drawing.nodes}
    assert min(kept) > 1 / (MOST + 49), "those that weigh least are left out"


def test_a_hub_s_neighbourhood_is_no_larger_than_what_is_shown_whole():
    view = made(1_500, *(("e:ana", f"f{i}") for i in range(1, 1_500)))
    drawing = draw(view)
    assert len(drawing.nodes) == WHOLE
    assert {f"f{i}" for i in range(1, 50)} < {n.id for n in drawing.nodes}, "the heaviest first"


def test_kinds_time_and_words_leave_what_fits():
    view = made(20, ("f3", "e:ana"))
    assert {n.kind for n in draw(view, kinds=("claim",)).nodes} == {"claim"}
    days = draw(view, since=date(2026, 1, 4), until=date(2026, 1, 5))
    assert {n.id for n in days.nodes} == {"f3", "f4", "e:ana"}, "an entity comes with its claims"
    assert "e:ana" not in {n.id for n in draw(view, since=date(2026, 1, 10)).nodes}
    assert {n.id for n in draw(view, find="NUMBER 12").nodes} == {"f11", "f12", "f13"}, "with what is one step away"
    assert draw(view, find="zebra").nodes == ()
    with pytest.raises(UnknownName, match="no kind of node named 'tea'"):
        draw(view, kinds=("tea",))


def test_a_centre_that_the_filter_leaves_out_gives_way_to_the_heaviest():
    view = made(600)
    assert draw(view, kinds=("claim",), centre="e:ana").centre == "f1"
    assert draw(view, kinds=(), centre="e:ana").nodes == ()


# ── behind an answer ──────────────────────────────────────────────────────────────────────────────────


def test_behind_a_turn_stand_the_facts_in_its_prompt_with_the_path_of_the_walk(store: Store, ana: LongTerm):
    Engine.open(store, user="ana", conversation="trip", chat=answer).say("Where does my sister Ann live?")
    found = behind(store, TRIP, store.require(TRIP).turns)
    rome = next(f for f in ana.facts() if "Rome" in ana.text(f))
    assert found.question == "Where does my sister Ann live?"
    assert found.reasons[rome.name].startswith("in the prompt: ")
    assert rome.name in found.reasons[rome.name].partition(" · ")[2], "the walk came there too, and its path says how"
    shown = draw(graph(store, TRIP), behind=found)
    assert rome.name in {n.id for n in shown.nodes}
    assert {n.kind for n in shown.nodes} <= {"claim", "entity", "page", "bookmark"}
    assert shown.reasons == found.reasons


def test_a_page_that_came_back_stands_behind_the_turn_and_says_for_whom(store: Store, engine: Engine):
    for n in range(9):
        engine.say(f"{n}. " + "The garden needs water and the fence needs paint before summer. " * 9)
    engine.recall("p1")
    engine.say("And now?")
    turn = store.require(TRIP).turns
    reasons = {i: r for at in (turn - 2, turn) for i, r in behind(store, TRIP, at).reasons.items()}
    assert reasons.get("p1", "").startswith("recalled by user")


def test_a_turn_with_nothing_behind_it_says_so(store: Store):
    found = behind(store, TRIP, 1)
    assert found.nodes == ()
    assert "nothing that is remembered" in found.note


def test_any_question_has_the_nodes_that_a_walk_for_it_comes_to(store: Store, ana: LongTerm):
    found = asked(store, TRIP, "Where does my sister Ann live?")
    rome = next(f for f in ana.facts() if "Rome" in ana.text(f))
    assert rome.name in found.reasons
    assert asked(store, TRIP, "How do I bake bread?").note


# ── one of them whole ─────────────────────────────────────────────────────────────────────────────────


def test_a_fact_s_node_has_its_sources_versions_and_edges(store: Store, ana: LongTerm):
    view = graph(store, TRIP)
    lyon = next(f for f in ana.facts() if "Lyon" in ana.text(f))
    found = node(store, view, lyon.name)
    assert found.fact is not None
    assert found.fact.sources[0].quote.startswith("I live in Lyon")
    assert len(found.edges) == found.node.edges
    assert {e.kind for e, _ in found.edges} >= {"belongs-to"}


def test_a_page_s_node_has_its_turns(store: Store):
    found = node(store, graph(store, TRIP), "p1")
    assert found.said[0][2] == "Let us plan the trip to Lyon."


def test_an_edge_has_both_ends_and_all_that_is_between_them(store: Store, ana: LongTerm):
    view = graph(store, TRIP)
    some = next(e for e in view.edges if e.kind == "belongs-to")
    first, second, between = edge(view, some.id)
    assert (first.id, second.id) == (some.source, some.target)
    assert some in between


@pytest.mark.parametrize("name", ["f99", "e:none", "p77", "", "x", "<script>"])
def test_a_node_or_edge_that_is_not_there_is_not_found(store: Store, name: str):
    view = graph(store, TRIP)
    with pytest.raises(NotFound):
        node(store, view, name)
    with pytest.raises(NotFound):
        edge(view, f"{name}>f1:topical")


# ── showing itself ────────────────────────────────────────────────────────────────────────────────────


def test_a_notebook_s_frame_holds_no_live_words(store: Store, ana: LongTerm):
    ana.write(Candidate("</script><img src=x onerror=alert(1)> is a tea", 0, 9))
    html = graph(store, TRIP)._repr_html_()
    assert "<iframe" in html
    assert "<img" not in html
    assert "<script>alert" not in html.replace("&lt;", "<").replace("\\u003c", "‹")
    assert "GraphView" in repr(graph(store, TRIP))


def test_in_a_notebook_the_graph_of_an_engine_shows_itself(engine: Engine):
    shown = inline.graph(engine, kinds=("page",))
    assert {n.kind for n in shown.nodes} == {"page"}
    assert shown._repr_html_().count("<iframe") == 1


def test_files_have_every_shown_node_and_edge_with_words(store: Store, ana: LongTerm):
    drawing = draw(graph(store, TRIP))
    assert [r["id"] for r in rows(drawing)] == [n.id for n in drawing.nodes]
    assert all(r["source_text"] or r["source"].startswith(("p", "b")) for r in lines(drawing))
    assert len(drawing.to_df()) == len(drawing.nodes)
    assert drawing.alt.startswith(f"{drawing.counts['entity']} entity")
