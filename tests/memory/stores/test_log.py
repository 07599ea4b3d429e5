"""DuckDB over the log: exactly what the truth says, whatever happened to the file, and for reading only."""

import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from store_by_hand import SCRIPT, Hand, open_hand

from memory.errors import BadQuery
from memory.events import (
    BookmarkMade,
    MessageReceived,
    MessageReplied,
    ModelCalled,
    ModelFailed,
    PageClosed,
    PageEvicted,
    PagePagedIn,
    PagesRecalled,
    PagesRetrieved,
    PagesUsed,
    PromptAssembled,
    SettingsChanged,
    StepFinished,
    TurnMarked,
)
from memory.scope import Scope
from memory.stores import log as log_module
from memory.stores.files import LOG_FILE, derived_lock
from memory.stores.log import ABOUT, VIEWS, Log, compare, drain, texts
from memory.stores.sql import Store
from memory.stores.sync import Following, sync
from memory.stores.verify import rebuild, verify

LIVE = Scope("ana", "trip")


@pytest.fixture(scope="module")
def talked(tmp_path_factory: pytest.TempPathFactory):
    """Two users, a long run, a branch of it in the middle of a page."""
    with Store.open(tmp_path_factory.mktemp("talked") / "store") as store:
        hand = open_hand(store, LIVE, seed=5)
        hand.talk(60)
        hand.receive_in_pieces("a very long message " * 40, 300)
        hand.answer("that was long")
        branch = Hand(store.open_stream(LIVE.at("fork"), store.require(LIVE), "what if"), seed=6)
        branch.talk(25)
        open_hand(store, Scope("bo", "trip"), seed=7).talk(10)
        hand.talk(5)
        sync(store)
        yield store


def own_events(store: Store, scope: Scope):
    stream = store.require(scope)
    return [e for e in store.events(scope) if e.version > stream.parent_version]


def bodies(store: Store, scope: Scope, *kinds: type):
    return [e.body for e in own_events(store, scope) if isinstance(e.body, kinds)]


def asked(store: Store, sql: str, scope: Scope) -> list[tuple]:
    where = '"user" = $user AND conversation = $conversation AND run = $run'
    values = {"user": scope.user, "conversation": scope.conversation, "run": scope.run}
    return store.sql(sql.replace("MINE", where), values).rows


# ── the views say what the log says ───────────────────────────────────────────────────────────────────

RUNS = [LIVE, LIVE.at("fork"), Scope("bo", "trip")]
each_run = pytest.mark.parametrize("scope", RUNS, ids=str)


@each_run
def test_turns(talked: Store, scope: Scope):
    words, state = talked.words(scope), talked.state(scope)
    said: dict[int, list] = {}
    for body in bodies(talked, scope, MessageReceived, MessageReplied):
        said.setdefault(body.turn.number, []).append(body.turn)
    marks = {b.turn: b.important for b in bodies(talked, scope, TurnMarked)}
    expected = [
        (n, t[0].role, t[0].speaker, t[0].said_at, sum(p.tokens for p in t), t[0].pieces, state.page_of(n).number,
         marks.get(n, False), words[t[0].text])
        for n, t in said.items()
    ]  # fmt: skip
    columns = "turn, role, speaker, said_at, tokens, pieces, page, important, text"
    assert asked(talked, f"SELECT {columns} FROM turns WHERE MINE ORDER BY turn", scope) == expected


@each_run
def test_steps(talked: Store, scope: Scope):
    own, settings = own_events(talked, scope), talked.state(scope).settings.hash
    per_step: dict[int, Counter] = {}
    opened = {e.step: e.at for e in own if e.kind == "MessageReceived" and not e.body.turn.piece}
    for event in own:
        counts, body = per_step.setdefault(event.step, Counter()), event.body
        if isinstance(body, ModelCalled):
            counts["prompt"] += body.prompt_tokens
            counts["completion"] += body.completion_tokens
            counts["calls"] += 1
        counts[event.kind] += 1
    expected = [
        (n, "finished", at, 103.5, 1.5, 2.0, 100.0, None, c["prompt"], c["completion"], round(c["calls"] * 0.001, 6),
         c["calls"], c["PagesRecalled"], c["PagePagedIn"], c["PageEvicted"], settings)
        for n, at in opened.items() for c in [per_step[n]]
    ]  # fmt: skip
    columns = (
        "step, state, started_at, total_ms, receive_ms, plan_ms, model_ms, recall_ms, prompt_tokens, "
        "completion_tokens, round(cost_usd, 6), calls, recalls, faults, evictions, settings"
    )
    assert asked(talked, f"SELECT {columns} FROM steps WHERE MINE ORDER BY step", scope) == expected


@each_run
def test_events(talked: Store, scope: Scope):
    with talked.read() as connection:
        stream = talked.require(scope).id
        raw = connection.exec_driver_sql(
            "SELECT seq, version, step, turn, kind, body FROM event WHERE stream = ? ORDER BY seq", (stream,)
        )
        expected = [tuple(row) for row in raw]
    columns = "seq, version, step, turn, kind, body"
    assert asked(talked, f"SELECT {columns} FROM events WHERE MINE ORDER BY seq", scope) == expected
    times = asked(talked, "SELECT happened_at FROM events WHERE MINE ORDER BY seq", scope)
    assert [at for (at,) in times] == [e.at for e in own_events(talked, scope)]


@each_run
def test_prompts(talked: Store, scope: Scope):
    expected = [
        (b.round, b.tokens, b.sections["system"], 0, b.sections["resident"], b.hash, len(b.messages))
        for b in bodies(talked, scope, PromptAssembled)
    ]
    columns = "round, tokens, system, new, resident, hash, messages"
    assert asked(talked, f"SELECT {columns} FROM prompts WHERE MINE ORDER BY version", scope) == expected


@each_run
def test_evictions(talked: Store, scope: Scope):
    words, pages = talked.words(scope), talked.state(scope).pages
    everything, own = talked.events(scope), own_events(talked, scope)
    expected = []
    for event in own:
        if not isinstance(body := event.body, PageEvicted):
            continue
        made = [e.body for e in everything if e.version < event.version and isinstance(e.body, BookmarkMade)]
        stub = next(words[b.bookmark.stub] for b in reversed(made) if b.page == body.page)
        later = [e for e in own if isinstance(e.body, PagePagedIn) and e.version > event.version]
        page = pages[body.page]
        expected.append(
            (event.version, body.page, body.policy, body.score, body.runner_up, body.freed_tokens, body.cause,
             body.used_tokens, body.limit_tokens, stub, page.first, page.last,
             sum(e.body.page == body.page for e in later))
        )  # fmt: skip
    columns = (
        "version, page, policy, score, runner_up, freed_tokens, cause, used_tokens, limit_tokens, stub, "
        "first_turn, last_turn, faults_after"
    )
    assert asked(talked, f"SELECT {columns} FROM evictions WHERE MINE ORDER BY version", scope) == expected


@each_run
def test_recalls(talked: Store, scope: Scope):
    words = talked.words(scope)
    expected = [
        (b.by, [*b.asked], words[b.question], [*b.came], [*b.resident],
         [f"{r.ref}: {r.reason}" for r in b.refused], b.right)
        for b in bodies(talked, scope, PagesRecalled)
    ]  # fmt: skip
    columns = "asked_by, asked, question, came, resident, refused, was_right"
    assert asked(talked, f"SELECT {columns} FROM recalls WHERE MINE ORDER BY version", scope) == expected


@each_run
def test_retrievals(talked: Store, scope: Scope):
    words = talked.words(scope)
    expected = [
        (words[b.question], b.by, b.strategy, b.embedder, b.k, [*b.chosen], len(b.candidates), [*b.channels], b.stages,
         b.thresholds, None, b.ms)
        for b in bodies(talked, scope, PagesRetrieved)
    ]  # fmt: skip
    columns = (
        "question, asked_by, strategy, embedder, k, chosen, considered, channels, stages, thresholds, note, "
        "round(ms, 3)"
    )
    assert expected
    assert asked(talked, f"SELECT {columns} FROM retrievals WHERE MINE ORDER BY version", scope) == expected


@each_run
def test_retrieval_candidates(talked: Store, scope: Scope):
    expected = [
        (place, c.page, c.turn, c.score, c.stage or None, c.dropped or None, dict(zip(b.channels, c.raw, strict=True)),
         c.shares[0])
        for b in bodies(talked, scope, PagesRetrieved) for place, c in enumerate(b.candidates, 1)
    ]  # fmt: skip
    columns = "place, page, turn, score, stage, dropped, raw, shares['words']"
    sql = f"SELECT {columns} FROM retrieval_candidates WHERE MINE ORDER BY version, place"
    assert asked(talked, sql, scope) == expected


@each_run
def test_llm_calls(talked: Store, scope: Scope):
    expected = [
        (b.llm, "reply", b.round, isinstance(b, ModelCalled), getattr(b, "prompt_tokens", 0) or None,
         getattr(b, "finish", None), getattr(b, "error", None), getattr(b, "again_in_s", None),
         b.ms, getattr(b, "first_ms", None))
        for b in bodies(talked, scope, ModelCalled, ModelFailed)
    ]  # fmt: skip
    columns = "llm, task, round, answered, prompt_tokens, finish, error, again_in_s, ms, first_ms"
    assert asked(talked, f"SELECT {columns} FROM llm_calls WHERE MINE ORDER BY version", scope) == expected


def test_settings_show_what_changed_and_from_what(store: Store, hand: Hand):
    hand.start()
    changed = hand.state.settings.but(window_tokens=9_000, eviction="fifo")
    hand.add(SettingsChanged(changed.to_dict(), changed.hash))
    hand.commit()
    first = store.sql("SELECT setting, value FROM settings WHERE before IS NULL ORDER BY setting").rows
    assert [name for name, _ in first] == sorted(changed.to_dict())
    later = "SELECT setting, value, before, hash FROM settings WHERE before IS NOT NULL ORDER BY setting"
    assert store.sql(later).rows == [
        ("eviction", "fifo", "lru", changed.hash), ("window_tokens", "9000", "0", changed.hash)
    ]  # fmt: skip
    branch = Hand(store.open_stream(LIVE.at("fork"), store.require(LIVE), "what if"))
    again = branch.state.settings.but(eviction="lfu")
    branch.add(SettingsChanged(again.to_dict(), again.hash))
    branch.commit()
    assert store.sql("SELECT setting, value, before FROM settings WHERE run = 'fork'").rows == [
        ("eviction", "lfu", "fifo")
    ]


@each_run
def test_bookmarks(talked: Store, scope: Scope):
    words = talked.words(scope)
    expected = [
        (made.page, words[b.keywords], words[b.stub], words[b.description], b.origin, 1.0)
        for made in bodies(talked, scope, BookmarkMade)
        for b in [made.bookmark]
    ]
    columns = "page, keywords, stub, description, origin, weight"
    assert asked(talked, f"SELECT {columns} FROM bookmarks WHERE MINE ORDER BY version", scope) == expected


@each_run
def test_pages(talked: Store, scope: Scope):
    state, own = talked.state(scope), own_events(talked, scope)
    counts = Counter((e.kind, e.body.page) for e in own if isinstance(e.body, PageEvicted | PagePagedIn))
    uses = Counter(c.page for b in bodies(talked, scope, PagesUsed) for c in b.pages)
    closed = {e.body.page: e for e in talked.events(scope) if isinstance(e.body, PageClosed)}
    mine = {b.turn.number for b in bodies(talked, scope, MessageReceived, MessageReplied)}
    expected = [
        (p.number, p.first, p.last, p.tokens, p.boundary or None, closed[p.number].step if p.closed else None,
         counts["PageEvicted", p.number], counts["PagePagedIn", p.number], uses[p.number])
        for p in state.pages.values() if mine & {t.number for t in p.turns}
    ]  # fmt: skip
    columns = "page, first_turn, last_turn, tokens, rule, closed_step, evictions, faults, uses"
    assert asked(talked, f"SELECT {columns} FROM pages WHERE MINE ORDER BY page", scope) == expected


@pytest.mark.parametrize("view", VIEWS)
def test_every_column_is_documented_in_order_and_can_be_named_without_quotes(talked: Store, view: str):
    assert ABOUT[view]
    assert list(talked.sql(f"SELECT * FROM {view}").columns) == list(VIEWS[view])
    assert [name for name, *_ in talked.sql(f"DESCRIBE {view}")] == list(VIEWS[view])
    for column in set(VIEWS[view]) - {"user"}:  # `user` alone works, too, but means the database's in some dialects
        talked.sql(f"SELECT {column}, max({column}) FROM {view} GROUP BY {column} ORDER BY {column} LIMIT 1")


def test_a_running_step_and_one_without_known_price(store: Store, hand: Hand):
    hand.talk(1)
    hand.receive("and now?")
    hand.add(ModelCalled(0, "hand", 10, 5, None, 1.0, "stop", 0))
    hand.commit()
    assert store.sql("SELECT state, ended_at, cost_usd FROM steps WHERE step = 2").rows == [("running", None, None)]
    hand.add(StepFinished({}))
    hand.commit()
    assert store.sql("SELECT state FROM steps WHERE step = 2").rows == [("finished",)]


# ── following ─────────────────────────────────────────────────────────────────────────────────────────


def test_a_reader_sees_what_was_just_written(store: Store, hand: Hand):
    hand.talk(3)
    assert store.sql("SELECT count(*) FROM turns").rows == [(6,)]
    hand.talk(1)
    assert store.sql("SELECT count(*), max(text) FROM turns").rows == [(8, "reply 4 about peanuts")]
    assert store.sql("SELECT count(*) FROM events WHERE body IS NULL").rows == [(0,)]


def test_a_drain_appends_what_is_missing_and_nothing_twice(store: Store, hand: Hand):
    hand.talk(5)
    first = sync(store)
    assert (first.events, first.rebuilt) == (store.last_seq(), "")
    assert sync(store).events == 0
    hand.talk(2)
    assert sync(store).events == store.last_seq() - first.events
    assert verify(store).ok
    assert verify(store).derived_events == store.last_seq()


def test_small_batches_give_the_same_as_one(store: Store, hand: Hand, monkeypatch: pytest.MonkeyPatch):
    hand.talk(20)
    whole = [store.sql(f"SELECT * FROM {view} ORDER BY ALL").rows for view in VIEWS]
    monkeypatch.setattr(log_module, "BATCH", 45)
    rebuild(store)
    assert verify(store).ok
    log = Log(store)
    assert [log.query(f"SELECT * FROM {view} ORDER BY ALL").rows for view in VIEWS] == whole
    log.close()


def test_drains_that_are_killed_leave_a_file_that_goes_on(store: Store, hand: Hand, spawn):
    """Dead between open and close, wherever it was: what is there says what is missing."""
    hand.talk(30)
    code = f"""
import sys; sys.path.insert(0, {str(SCRIPT.parent)!r})
import os
from memory.stores import log
from memory.stores.sql import Store
from memory.stores.sync import sync
log.BATCH, at, real = 80, int(sys.argv[1]), log._append
def dies(db, batch):
    global at
    at -= 1
    if at == 0 and sys.argv[2] == "before":
        os._exit(9)
    real(db, batch)
    if at == 0:
        os._exit(9)
log._append = dies
sync(Store.open({str(store.path)!r}))
"""
    for at, when in ((1, "before"), (1, "after"), (2, "before")):
        done = subprocess.run([sys.executable, "-c", code, str(at), when], timeout=60, check=False, capture_output=True)
        assert done.returncode == 9, done.stderr
        assert verify(store).ok
    assert sync(store).rebuilt == ""
    assert verify(store).derived_events == store.last_seq()
    assert verify(store).ok


def test_several_processes_drain_while_one_writes(folder: Path, spawn):
    writer = spawn("write", folder, "ana", "trip", 15)
    writer.stdout.readline()
    drains = [spawn("sync", folder, 4) for _ in range(2)]
    with Store.open(folder) as store:
        counts = []
        while writer.poll() is None:
            counts.append(store.sql("SELECT count(*) FROM events").rows[0][0])
            time.sleep(0.1)
        outputs = [p.communicate(timeout=60) for p in (writer, *drains)]
        assert [errors for _, errors in outputs] == [""] * 3
        assert counts == sorted(counts)
        sync(store, wait_s=10)
        assert verify(store).ok
        assert verify(store).derived_events == store.last_seq()


def test_the_log_is_read_from_sqlite_where_the_file_cannot_be_had(store: Store, hand: Hand):
    hand.talk(3)
    sync(store)
    hand.talk(1)
    holder = duckdb.connect(str(store.path / LOG_FILE))
    try:
        with derived_lock(store.path, 0) as ours:
            assert ours
            assert sync(store).skipped
            log = Log(store, wait_s=0.1)
            assert log.query("SELECT count(*), max(body) IS NOT NULL FROM events").rows == [(store.last_seq(), True)]
            log.close()
    finally:
        holder.close()


def test_a_file_that_another_program_holds_is_left_alone(store: Store, hand: Hand):
    hand.talk(3)
    sync(store)
    hand.talk(1)
    held = f"import duckdb; db = duckdb.connect({str(store.path / LOG_FILE)!r}); print('held', flush=True); input()"
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", held], stdin=pipe, stdout=pipe, text=True) as other:
        other.stdout.readline()
        assert "another program" in sync(store).skipped
        assert store.sql("SELECT count(*) FROM turns").rows == [(8,)]
        other.communicate("\n")
    assert sync(store).events


def test_a_file_that_a_thread_of_this_program_reads_is_left_alone(store: Store, hand: Hand):
    hand.talk(3)
    sync(store)
    hand.talk(1)
    with closing(duckdb.connect(str(store.path / LOG_FILE), read_only=True)):
        assert "thread" in sync(store).skipped
    done = sync(store)
    assert done.events
    assert not done.rebuilt  # what nothing is wrong with is not made anew


@pytest.mark.parametrize("read", [lambda store: [*texts(store)], lambda store: compare(store)[2]], ids=["all", "same"])
def test_whoever_reads_the_file_waits_for_the_thread_that_writes_it(store: Store, hand: Hand, read):
    hand.talk(3)
    sync(store)
    expected = read(store)
    taken, done = threading.Event(), threading.Event()

    def write() -> None:
        with derived_lock(store.path, 5), closing(duckdb.connect(str(store.path / LOG_FILE))):
            taken.set()
            done.wait(5)

    with ThreadPoolExecutor(2) as threads:
        writing = threads.submit(write)
        assert taken.wait(5)
        reading = threads.submit(read, store)
        with pytest.raises(TimeoutError):
            reading.result(0.2)
        done.set()
        assert reading.result(5) == expected
        writing.result(5)


@pytest.mark.parametrize("damage", ["garbage", "cut", "empty", "schema", "another store"])
def test_a_file_that_cannot_be_used_is_made_anew_without_an_error(
    store: Store, hand: Hand, damage: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    hand.talk(40)
    sync(store)
    file = store.path / LOG_FILE
    if damage == "garbage":
        file.write_bytes(b"no database at all" * 1_000)
    elif damage == "cut":
        os.truncate(file, file.stat().st_size // 2)
    elif damage == "empty":
        file.write_bytes(b"")
    elif damage == "schema":
        with duckdb.connect(str(file)) as db:
            db.execute("UPDATE raw.about SET schema_number = 0")
    else:
        with Store.open(tmp_path / "other") as other:
            open_hand(other, Scope("eve", "trip")).talk(5)
            sync(other)
            file.write_bytes((other.path / LOG_FILE).read_bytes())
    assert not verify(store).ok
    assert "run `workbench rebuild`" in verify(store).faults[0]
    assert store.sql("SELECT count(*) FROM turns").rows == [(80,)]
    assert "made anew" in caplog.text
    assert verify(store).ok


def test_rebuild_mends_everything_derived(store: Store, hand: Hand):
    hand.talk(10)
    (store.path / LOG_FILE).write_bytes(b"garbage" * 999)
    with sqlite3.connect(store.file) as raw:
        raw.execute("UPDATE stream SET turns = 3, version = version")
        raw.execute("INSERT INTO snapshot VALUES (1, 5, 1, '{}')")
    raw.close()
    assert len(verify(store).faults) >= 2
    made = rebuild(store)
    assert (made.streams, made.events) == (1, store.last_seq())
    assert verify(store).faults == ()
    assert "no fault" in repr(verify(store))
    assert "No fault" in verify(store)._repr_html_()


def test_verify_names_a_row_that_differs(store: Store, hand: Hand):
    hand.talk(5)
    sync(store)
    with duckdb.connect(str(store.path / LOG_FILE)) as db:
        db.execute("UPDATE raw.event SET body = '{}' WHERE seq = 4")
        db.execute("DELETE FROM raw.prompt WHERE version = 4")
        db.execute("DELETE FROM raw.step_part WHERE step = 2")
    faults = " ".join(verify(store).faults)
    assert "event 4 differs" in faults
    assert "calls in the sums of steps" in faults


def test_a_background_follower_keeps_the_file_up_to_date(store: Store, hand: Hand):
    with Following(store, every_s=0.05):
        hand.talk(3)
        deadline = time.monotonic() + 20
        while not (store.path / LOG_FILE).exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        hand.talk(2)
    assert verify(store).derived_events == store.last_seq()


# ── asking ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("SELEC 1", "syntax error"),
        ("SELECT * FROM turnz", "The views are: turns, steps"),
        ("SELECT colour FROM turns", "colour"),
        ("", "one statement at a time, not 0"),
        ("SELECT 1; SELECT 2", "one statement at a time, not 2"),
        ("INSERT INTO raw.mark VALUES (1)", "use SELECT"),
        ("DELETE FROM raw.event", "use SELECT"),
        ("DROP VIEW turns", "use SELECT"),
        ("CREATE TABLE mine (a INT)", "use SELECT"),
        ("UPDATE raw.word SET content = ''", "use SELECT"),
        ("WITH gone AS (DELETE FROM raw.event RETURNING *) SELECT * FROM gone", "read-only"),
        ("EXPLAIN ANALYZE DELETE FROM raw.event", "read-only"),
        ("COPY turns TO '/tmp/stolen.csv'", "use SELECT"),
        ("ATTACH '/tmp/x.duckdb'", "use SELECT"),
        ("SET enable_external_access = true", "use SELECT"),
        ("PRAGMA database_list", "use SELECT"),
        ("INSTALL httpfs", "use SELECT"),
        ("CALL pragma_version()", "use SELECT"),
        ("SELECT * FROM read_csv('/etc/passwd')", "disabled"),
        ("SELECT * FROM read_text('/etc/passwd')", "disabled"),
        ("SELECT * FROM '/etc/passwd'", "does not exist"),
        ("SELECT * FROM read_parquet('https://example.org/x.parquet')", "disabled"),
        ("SELECT * FROM glob('/etc/*')", "disabled"),
        ("SELECT * FROM a_python_variable", "does not exist"),
        ("SELECT 1 WHERE 1 = ?", "parameter"),
    ],
)
def test_a_bad_query_says_what_is_wrong(talked: Store, sql: str, told: str):
    a_python_variable = talked.sql("SELECT 1 AS a").to_df()
    with pytest.raises(BadQuery, match=f"(?is){told}"):
        talked.sql(sql)
    assert len(a_python_variable) == 1
    assert talked.sql("SELECT count(*) > 0 FROM events").rows == [(True,)]


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the zone of a process, of POSIX")
def test_times_and_days_are_utc_wherever_the_machine_stands(store: Store, monkeypatch: pytest.MonkeyPatch):
    """A conversation of one evening does not move to the next day because it is looked at in Shanghai."""
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    time.tzset()
    try:
        late = "TIMESTAMPTZ '2026-03-02 23:30:00+00'"
        ((zone, day, shown),) = store.sql(f"SELECT current_setting('TimeZone'), {late}::DATE, {late}").rows
    finally:
        monkeypatch.undo()
        time.tzset()
    assert (zone, day.isoformat(), shown.isoformat()) == ("UTC", "2026-03-02", "2026-03-02T23:30:00+00:00")


def test_what_takes_long_prints_nothing_of_its_own(folder: Path):
    """Where no file is run, in a notebook or by `python -c`, DuckDB would show a bar after two seconds."""
    code = """
import sys
from pathlib import Path
from memory.stores.log import _connect, _in_memory
for db in (_connect(Path(sys.argv[1]) / "events.duckdb"), _in_memory()):
    print(*db.execute("SELECT current_setting('enable_progress_bar')").fetchone())
"""
    folder.mkdir()
    done = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


@pytest.mark.parametrize(
    "sql",
    ["SELECT 1", "WITH a AS (SELECT 1) FROM a", "FROM turns LIMIT 1", "DESCRIBE turns", "SHOW TABLES", "VALUES (1)",
     "SUMMARIZE events", "EXPLAIN SELECT * FROM events", "-- a remark\nSELECT body FROM events LIMIT 1;"],
)  # fmt: skip
def test_what_only_reads_is_allowed(talked: Store, sql: str):
    log = Log(talked)
    assert len(log.query(sql))
    log.close()


def test_an_answer_shows_itself(talked: Store):
    words = "turn, said_at, '<b>bold</b>' AS words"
    answer = talked.sql(f"SELECT {words} FROM turns WHERE conversation = 'trip' AND run = 'fork' ORDER BY turn LIMIT 3")
    assert answer.columns == ("turn", "said_at", "words")
    assert answer.types[:2] == ("INTEGER", "TIMESTAMP WITH TIME ZONE")
    assert [row[0] for row in answer] == [123, 124, 125]
    assert list(answer.to_df().columns) == list(answer.columns)
    assert answer.dicts()[0]["turn"] == 123
    assert "3 rows" in repr(answer)
    assert "<b>" not in answer._repr_html_()


def test_threads_share_one_log_while_another_writes(store: Store, hand: Hand):
    hand.talk(5)
    log, faults = Log(store), []

    def ask() -> None:
        for _ in range(15):
            turns, events = log.query("SELECT (SELECT count(*) FROM turns), (SELECT count(*) FROM events)").rows[0]
            if not turns or not events:
                faults.append((turns, events))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    hand.talk(10)
    for thread in threads:
        thread.join()
    assert faults == []
    assert log.query("SELECT count(*) FROM turns").rows == [(30,)]
    assert drain(store).events >= 0
    log.close()


def test_importing_the_store_loads_no_duckdb():
    code = "import sys, memory.stores.sql, memory.stores.sync, memory.stores.verify; print('duckdb' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "False\n"


COUNTING = "SELECT count(*) FROM range(70_000) a, range(3_000) b WHERE (a.range + b.range) % 7 = 3"  # a second or two


@pytest.mark.parametrize("taken_away", [False, True])
def test_a_long_query_ends_well_while_another_thread_closes_the_store_or_takes_words_away(store: Store, taken_away):
    other = LIVE.at("replay-1")
    for scope in (LIVE, other):
        open_hand(store, scope).talk(1)
    with ThreadPoolExecutor(1) as pool:
        counting = pool.submit(store.sql, COUNTING)
        time.sleep(0.3)
        if taken_away:
            store.delete_run(other)
            assert store.sql("SELECT count(*) FROM turns WHERE run = 'replay-1'").rows == [(0,)]
        else:
            store.close()
        assert counting.result().rows == [(30_000_000,)]
