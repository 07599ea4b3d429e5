"""What `workbench sql` asks: views over the log, their columns in words, and the tables that carry them.

Each record is taken apart once, when it arrives, into one narrow table per question (`Taken`), with its words;
a view only joins and counts. No view parses JSON or looks words up. What a step came to is summed up as its records
arrive, too, one row for each batch that brought some (`step_part`).

A run that continues another (a branch) shows only its own rows here. What it took over, the pages and bookmarks
it began with, stands in the tables marked `inherited`: looked up, never shown twice.
"""

# ruff: noqa: S608 # SQL is put together from the constants of this file alone

from __future__ import annotations

from memory.stores import fact_views
from memory.stores.taken import Taken

SCHEMA = 6  # grows with any change below: a file of another number is made anew

BASE = """
CREATE SCHEMA raw;
CREATE TABLE raw.about (schema_number INTEGER, generation BIGINT);
CREATE TABLE raw.stream (id INTEGER, "user" VARCHAR, conversation VARCHAR, run VARCHAR, parent INTEGER,
    parent_version INTEGER);
CREATE TABLE raw.event (seq BIGINT, stream INTEGER, version INTEGER, step INTEGER, turn INTEGER, kind VARCHAR,
    happened_at TIMESTAMPTZ, body VARCHAR);
CREATE TABLE raw.word (rev BIGINT, id BIGINT, content VARCHAR);
"""
STAGES = ("receive", "plan", "assemble", "model", "recall", "settle")
SECTIONS = ("system", "facts", "stubs", "recalled", "resident", "new", "exchange")


# A page is the turns between two closings: how many closed before a turn says on which it stands.
WITH_PAGE_AND_SETTINGS = (
    "(SELECT m.*, coalesce(c.page, 0) + 1 AS on_page, h.hash AS settings_hash FROM batch m "
    "ASOF LEFT JOIN (SELECT stream, version, page FROM raw.closing WHERE stream IN (SELECT stream FROM batch)) c "
    "ON m.stream = c.stream AND m.version > c.version "
    "ASOF LEFT JOIN (SELECT stream, version, hash FROM raw.setting WHERE stream IN (SELECT stream FROM batch)) h "
    "ON m.stream = h.stream AND m.version > h.version)"
)

CLOSING = Taken(
    "closing", ("PageClosed",), '{"page":"INTEGER","rule":"VARCHAR","importance":"DOUBLE","why_important":"VARCHAR"}',
    {"page": ("INTEGER", "b.page"), "rule": ("VARCHAR", "b.rule"), "importance": ("DOUBLE", "b.importance"),
     "why": ("VARCHAR", "b.why_important")},
)  # fmt: skip
BOOKMARK = Taken(
    "bookmark", ("BookmarkMade",),
    '{"page":"INTEGER","bookmark":{"stub":"BIGINT","keywords":"BIGINT","description":"BIGINT","tokens":"INTEGER",'
    '"origin":"VARCHAR","weight":"DOUBLE"}}',
    {"page": ("INTEGER", "b.page"), "stub": ("VARCHAR", "stub.content"),
     "keywords": ("VARCHAR", "keywords.content"),
     "description": ("VARCHAR", "description.content"), "tokens": ("INTEGER", "b.bookmark.tokens"),
     "origin": ("VARCHAR", "b.bookmark.origin"), "weight": ("DOUBLE", "b.bookmark.weight")},
    words=(("stub", "bookmark.stub"), ("keywords", "bookmark.keywords"), ("description", "bookmark.description")),
)  # fmt: skip
SETTING = Taken("setting", ("SettingsChanged",), '{"hash":"VARCHAR"}', {"hash": ("VARCHAR", "b.hash")})
SETTING_VALUE = Taken(
    "setting_value", ("SettingsChanged",), '{"settings":"MAP(VARCHAR,JSON)","hash":"VARCHAR"}',
    {"setting": ("VARCHAR", "i.key"), "value": ("VARCHAR", "i.value->>'$'"), "hash": ("VARCHAR", "b.hash")},
    each="map_entries(b.settings)",
)  # fmt: skip
MARK = Taken(
    "mark", ("TurnMarked",), '{"turn":"INTEGER","important":"BOOLEAN"}',
    {"turn": ("INTEGER", "b.turn"), "important": ("BOOLEAN", "b.important")},
)  # fmt: skip
PIECE = Taken(
    "piece", ("MessageReceived", "MessageReplied"),
    '{"turn":{"number":"INTEGER","role":"VARCHAR","text":"BIGINT","tokens":"INTEGER","said_at":"TIMESTAMPTZ",'
    '"speaker":"VARCHAR","piece":"INTEGER","pieces":"INTEGER","important":"BOOLEAN"}}',
    {"turn": ("INTEGER", "b.turn.number"), "role": ("VARCHAR", "b.turn.role"),
     "speaker": ("VARCHAR", "b.turn.speaker"), "said_at": ("TIMESTAMPTZ", "b.turn.said_at"),
     "tokens": ("INTEGER", "b.turn.tokens"), "text": ("VARCHAR", "said.content"),
     "piece": ("INTEGER", "coalesce(b.turn.piece, 0)"), "pieces": ("INTEGER", "coalesce(b.turn.pieces, 1)"),
     "important": ("BOOLEAN", "coalesce(b.turn.important, false)"),
     "opens": ("BOOLEAN", "kind = 'MessageReceived' AND coalesce(b.turn.piece, 0) = 0"),
     "page": ("INTEGER", "on_page"), "settings": ("VARCHAR", "settings_hash")},
    source=WITH_PAGE_AND_SETTINGS,
    words=(("said", "turn.text"),),
)  # fmt: skip
OTHERS = (
    Taken(
        "eviction", ("PageEvicted",),
        '{"page":"INTEGER","policy":"VARCHAR","score":"DOUBLE","runner_up":"INTEGER","runner_up_score":"DOUBLE",'
        '"freed_tokens":"INTEGER","cause":"VARCHAR","used_tokens":"INTEGER","limit_tokens":"INTEGER",'
        '"decided_by":"VARCHAR","why":"VARCHAR"}',
        {"page": ("INTEGER", "b.page"), "policy": ("VARCHAR", "b.policy"), "score": ("DOUBLE", "b.score"),
         "runner_up": ("INTEGER", "nullif(b.runner_up, 0)"),
         "runner_up_score": ("DOUBLE", "CASE WHEN b.runner_up > 0 THEN b.runner_up_score END"),
         "freed_tokens": ("INTEGER", "b.freed_tokens"), "cause": ("VARCHAR", "b.cause"),
         "used_tokens": ("INTEGER", "b.used_tokens"), "limit_tokens": ("INTEGER", "b.limit_tokens"),
         "decided_by": ("VARCHAR", "nullif(b.decided_by, '')"), "why": ("VARCHAR", "nullif(b.why, '')")},
    ),
    Taken(
        "paging", ("PagePagedIn",), '{"page":"INTEGER","by":"VARCHAR","tokens":"INTEGER","thrash":"BOOLEAN"}',
        {"page": ("INTEGER", "b.page"), "by": ("VARCHAR", "b.by"), "tokens": ("INTEGER", "b.tokens"),
         "thrash": ("BOOLEAN", "b.thrash")},
    ),
    Taken(
        "recall", ("PagesRecalled",),
        '{"by":"VARCHAR","asked":["VARCHAR"],"question":"BIGINT","resident":["INTEGER"],"came":["INTEGER"],'
        '"refused":[{"ref":"VARCHAR","reason":"VARCHAR"}],"right":"BOOLEAN","note":"VARCHAR"}',
        {"asked_by": ("VARCHAR", "b.by"), "asked": ("VARCHAR[]", "b.asked"),
         "question": ("VARCHAR", "question.content"),
         "came": ("INTEGER[]", "b.came"), "resident": ("INTEGER[]", "b.resident"),
         "refused": ("VARCHAR[]", "list_transform(b.refused, lambda r: r.ref || ': ' || r.reason)"),
         "was_right": ("BOOLEAN", 'b."right"'), "note": ("VARCHAR", "b.note")},
        words=(("question", "question"),),
    ),
    Taken("use", ("PagesUsed",), '{"pages":[{"page":"INTEGER"}]}', {"page": ("INTEGER", "i.page")}, each="b.pages"),
    Taken(
        "prompt", ("PromptAssembled",),
        '{"round":"INTEGER","messages":"JSON","tokens":"INTEGER","hash":"VARCHAR","sections":{'
        + ",".join(f'"{s}":"INTEGER"' for s in SECTIONS) + "}}",
        {"round": ("INTEGER", "b.round"), "tokens": ("INTEGER", "b.tokens"), "hash": ("VARCHAR", "b.hash"),
         "messages": ("INTEGER", "json_array_length(b.messages)"),
         **{s: ("INTEGER", f"coalesce(b.sections.{s}, 0)") for s in SECTIONS}},
    ),
    Taken(
        "call", ("ModelCalled",),
        '{"round":"INTEGER","llm":"VARCHAR","prompt_tokens":"INTEGER","completion_tokens":"INTEGER",'
        '"cost_usd":"DOUBLE","ms":"DOUBLE","finish":"VARCHAR","calls":"JSON","task":"VARCHAR","protocol":"VARCHAR",'
        '"first_ms":"DOUBLE"}',
        {"round": ("INTEGER", "b.round"), "llm": ("VARCHAR", "b.llm"),
         "prompt_tokens": ("INTEGER", "b.prompt_tokens"), "completion_tokens": ("INTEGER", "b.completion_tokens"),
         "cost_usd": ("DOUBLE", "b.cost_usd"), "ms": ("DOUBLE", "b.ms"), "finish": ("VARCHAR", "b.finish"),
         "asked": ("INTEGER", "coalesce(json_array_length(b.calls), 0)"),
         "task": ("VARCHAR", "coalesce(b.task, 'reply')"), "protocol": ("VARCHAR", "nullif(b.protocol, '')"),
         "first_ms": ("DOUBLE", "nullif(b.first_ms, 0)")},
    ),
    Taken(
        "failure", ("ModelFailed",),
        '{"round":"INTEGER","llm":"VARCHAR","error":"VARCHAR","message":"VARCHAR","task":"VARCHAR",'
        '"attempt":"INTEGER","again_in_s":"DOUBLE","ms":"DOUBLE"}',
        {"round": ("INTEGER", "b.round"), "llm": ("VARCHAR", "b.llm"), "error": ("VARCHAR", "b.error"),
         "message": ("VARCHAR", "b.message"), "task": ("VARCHAR", "coalesce(b.task, 'reply')"),
         "attempt": ("INTEGER", "coalesce(b.attempt, 1)"), "again_in_s": ("DOUBLE", "b.again_in_s"),
         "ms": ("DOUBLE", "nullif(b.ms, 0)")},
    ),
    Taken(
        "retrieval", ("PagesRetrieved",),
        '{"question":"BIGINT","by":"VARCHAR","strategy":"VARCHAR","embedder":"VARCHAR","k":"INTEGER",'
        '"chosen":["INTEGER"],"channels":["VARCHAR"],"candidates":"JSON","stages":"MAP(VARCHAR,INTEGER)",'
        '"thresholds":"MAP(VARCHAR,DOUBLE)","note":"VARCHAR","ms":"DOUBLE"}',
        {"question": ("VARCHAR", "question.content"), "asked_by": ("VARCHAR", 'b."by"'),
         "strategy": ("VARCHAR", "b.strategy"), "embedder": ("VARCHAR", "nullif(b.embedder, '')"),
         "k": ("INTEGER", "b.k"), "chosen": ("INTEGER[]", "b.chosen"), "channels": ("VARCHAR[]", "b.channels"),
         "considered": ("INTEGER", "coalesce(json_array_length(b.candidates), 0)"),
         "stages": ("MAP(VARCHAR, INTEGER)", "b.stages"), "thresholds": ("MAP(VARCHAR, DOUBLE)", "b.thresholds"),
         "note": ("VARCHAR", "nullif(b.note, '')"), "ms": ("DOUBLE", "b.ms")},
        words=(("question", "question"),),
    ),
    Taken(
        "candidate", ("PagesRetrieved",),
        '{"channels":["VARCHAR"],"candidates":[{"page":"INTEGER","turn":"INTEGER","score":"DOUBLE",'
        '"dropped":"VARCHAR","stage":"VARCHAR","raw":["DOUBLE"],"shares":["DOUBLE"]}]}',
        {"place": ("INTEGER", "i.place"), "page": ("INTEGER", "i.c.page"), "turn": ("INTEGER", "nullif(i.c.turn, 0)"),
         "score": ("DOUBLE", "i.c.score"), "stage": ("VARCHAR", "nullif(i.c.stage, '')"),
         "dropped": ("VARCHAR", "nullif(i.c.dropped, '')"),
         "raw": ("MAP(VARCHAR, DOUBLE)", "TRY(map(b.channels, i.c.raw))"),
         "shares": ("MAP(VARCHAR, DOUBLE)", "TRY(map(b.channels, i.c.shares))")},
        each="list_transform(b.candidates, lambda c, n: struct_pack(c := c, place := n))",
    ),
    Taken(
        "ending", ("StepFinished", "StepAbandoned"),
        '{"reason":"VARCHAR","ms":{' + ",".join(f'"{s}":"DOUBLE"' for s in STAGES) + "}}",
        {"state": ("VARCHAR", "CASE kind WHEN 'StepFinished' THEN 'finished' ELSE 'abandoned' END"),
         "reason": ("VARCHAR", "b.reason"),
         **{s: ("DOUBLE", f"b.ms.{s}") for s in STAGES}},
    ),
)  # fmt: skip

# What a branch begins with; pieces look closings and settings up, so they come last.
HANDED_DOWN = (CLOSING, SETTING, SETTING_VALUE, MARK, BOOKMARK, PIECE)
TAKEN = (*HANDED_DOWN, *OTHERS, *fact_views.TAKEN)


def inherit(table: str) -> str:
    """Rows that the branch `$child` takes over from `$parent`, up to `$version`."""
    return (
        f"INSERT INTO raw.{table} SELECT * REPLACE ($child AS stream, true AS inherited) FROM raw.{table} "
        "WHERE stream = $parent AND version <= $version"
    )


# ── what a step came to ───────────────────────────────────────────────────────────────────────────────

_MS = ", ".join(STAGES)
COUNTED = ("priced", "calls", "recalls", "faults", "evictions", "work_calls")
STEP_PART = f"""
CREATE TABLE raw.step_part (stream INTEGER, step INTEGER, started_at TIMESTAMPTZ, settings VARCHAR, state VARCHAR,
    reason VARCHAR, ended_at TIMESTAMPTZ, {" DOUBLE, ".join(STAGES)} DOUBLE, prompt_tokens INTEGER,
    completion_tokens INTEGER, cost_usd DOUBLE, priced INTEGER, calls INTEGER, recalls INTEGER, faults INTEGER,
    evictions INTEGER, work_calls INTEGER, work_tokens INTEGER);
"""
# One that was given up and answered when it was tried again is finished.
_ENDED = """if(bool_or(state = 'finished'), 'finished', any_value(state)) AS state,
       if(bool_or(state = 'finished'), NULL, any_value(reason)) AS reason"""
SUMMED = {"calls + work_calls": "call", "recalls": "recall", "faults": "paging", "evictions": "eviction"}
# From the narrow tables, which hold the batch already: their rows from `$first`, its first seq, on.
ADD_STEP_PARTS = f"""
INSERT INTO raw.step_part BY NAME
SELECT stream, step, min(started_at) AS started_at, any_value(settings) AS settings, {_ENDED},
       max(ended_at) AS ended_at,
       {", ".join(f"any_value({stage}) AS {stage}" for stage in STAGES)},
       sum(prompt_tokens) AS prompt_tokens, sum(completion_tokens) AS completion_tokens, sum(cost_usd) AS cost_usd,
       count(cost_usd) AS priced, count(a_call) AS calls, count(a_recall) AS recalls, count(a_fault) AS faults,
       count(an_eviction) AS evictions, count(a_work) AS work_calls, sum(work_tokens) AS work_tokens
FROM (SELECT stream, step, happened_at AS started_at, settings FROM raw.piece
      WHERE opens AND NOT inherited AND seq >= $first
      UNION ALL BY NAME
      SELECT stream, step, state, reason, happened_at AS ended_at, {_MS} FROM raw.ending WHERE seq >= $first
      UNION ALL BY NAME
      SELECT stream, step, 1 AS a_call, prompt_tokens, completion_tokens, cost_usd FROM raw.call
      WHERE task = 'reply' AND seq >= $first
      UNION ALL BY NAME
      SELECT stream, step, 1 AS a_work, prompt_tokens + completion_tokens AS work_tokens FROM raw.call
      WHERE task <> 'reply' AND seq >= $first
      UNION ALL BY NAME SELECT stream, step, 1 AS a_recall FROM raw.recall WHERE seq >= $first
      UNION ALL BY NAME SELECT stream, step, 1 AS a_fault FROM raw.paging WHERE seq >= $first
      UNION ALL BY NAME SELECT stream, step, 1 AS an_eviction FROM raw.eviction WHERE seq >= $first)
GROUP BY stream, step
"""


# ── the views ─────────────────────────────────────────────────────────────────────────────────────────

WHOSE = 's."user", s.conversation, s.run'
_STREAM = "JOIN raw.stream s ON s.id = {0}.stream"

TURNS = f"""
SELECT {WHOSE}, t.turn, t.role, t.speaker, t.said_at, t.tokens + coalesce(r.tokens, 0) AS tokens, t.pieces, t.page,
       t.step, t.important OR coalesce(m.important, false) AS important, t.text
FROM (SELECT * FROM raw.piece WHERE piece = 0 AND NOT inherited) t
{_STREAM.format("t")}
LEFT JOIN (SELECT stream, turn, sum(tokens)::INTEGER AS tokens FROM raw.piece WHERE piece > 0 GROUP BY stream, turn) r
       ON r.stream = t.stream AND r.turn = t.turn
LEFT JOIN (SELECT stream, turn, arg_max(important, version) AS important FROM raw.mark GROUP BY stream, turn) m
       ON m.stream = t.stream AND m.turn = t.turn
"""

STEPS = f"""
SELECT {WHOSE}, t.step, coalesce(t.state, if(t.step = l.step, 'running', 'abandoned')) AS state, t.reason,
       t.started_at, t.ended_at, {" + ".join(f"coalesce(t.{stage}, 0)" for stage in STAGES)} AS total_ms,
       {", ".join(f"t.{stage} AS {stage}_ms" for stage in STAGES)},
       coalesce(t.prompt_tokens, 0) AS prompt_tokens, coalesce(t.completion_tokens, 0) AS completion_tokens,
       if(t.calls = t.priced, coalesce(t.cost_usd, 0), NULL) AS cost_usd, t.calls, t.recalls, t.faults, t.evictions,
       t.work_calls, coalesce(t.work_tokens, 0) AS work_tokens, t.settings
FROM (SELECT stream, step, {_ENDED},
             min(started_at) AS started_at, max(ended_at) AS ended_at,
             {", ".join(f"any_value({stage}) AS {stage}" for stage in STAGES)},
             any_value(settings) AS settings, sum(prompt_tokens)::INTEGER AS prompt_tokens,
             sum(completion_tokens)::INTEGER AS completion_tokens, sum(cost_usd) AS cost_usd,
             sum(work_tokens)::INTEGER AS work_tokens,
             {", ".join(f"sum({n})::BIGINT AS {n}" for n in COUNTED)}
      FROM raw.step_part GROUP BY stream, step HAVING count(started_at) > 0) t
{_STREAM.format("t")}
JOIN (SELECT stream, max(step) AS step FROM raw.step_part WHERE started_at IS NOT NULL GROUP BY stream) l
  ON l.stream = t.stream
"""

EVENTS = f"""
SELECT e.seq, {WHOSE}, e.version, e.step, e.turn, e.kind, e.happened_at, e.body::JSON AS body
FROM raw.event e {_STREAM.format("e")}
"""

PROMPTS = f"""
SELECT {WHOSE}, p.step, p.round, p.tokens, {", ".join(f"p.{s}" for s in SECTIONS)}, p.hash, p.messages,
       p.happened_at, p.version
FROM raw.prompt p {_STREAM.format("p")}
"""

_RANGES = """(SELECT stream, page, min(turn) AS first_turn, max(turn) AS last_turn, sum(tokens)::INTEGER AS tokens,
             bool_or(NOT inherited) AS own FROM raw.piece GROUP BY stream, page)"""

EVICTIONS = f"""
SELECT {WHOSE}, v.step, v.page, v.policy, v.score, v.runner_up, v.runner_up_score, v.freed_tokens, v.cause,
       v.used_tokens, v.limit_tokens, v.decided_by, v.why, b.stub, g.first_turn, g.last_turn,
       coalesce(f.n, 0) AS faults_after, v.happened_at, v.version
FROM raw.eviction v
{_STREAM.format("v")}
LEFT JOIN (SELECT e.stream, e.version, count(*) AS n FROM raw.eviction e JOIN raw.paging p
           ON p.stream = e.stream AND p.page = e.page AND p.version > e.version GROUP BY e.stream, e.version) f
       ON f.stream = v.stream AND f.version = v.version
LEFT JOIN {_RANGES} g ON g.stream = v.stream AND g.page = v.page
ASOF LEFT JOIN (SELECT stream, page, version, stub FROM raw.bookmark) b
       ON b.stream = v.stream AND b.page = v.page AND v.version > b.version
"""

RECALLS = f"""
SELECT {WHOSE}, r.step, r.asked_by, r.asked, r.question, r.came, r.resident, r.refused, r.was_right, r.note,
       r.happened_at, r.version
FROM raw.recall r {_STREAM.format("r")}
"""

RETRIEVALS = f"""
SELECT {WHOSE}, r.step, r.asked_by, r.question, r.strategy, r.embedder, r.k, r.chosen, r.considered, r.channels,
       r.stages, r.thresholds, r.note, r.ms, r.happened_at, r.version
FROM raw.retrieval r {_STREAM.format("r")}
"""

CANDIDATES = f"""
SELECT {WHOSE}, c.step, c.version, c.place, c.page, c.turn, c.score, c.stage, c.dropped, c.raw, c.shares
FROM raw.candidate c {_STREAM.format("c")}
"""

LLM_CALLS = f"""
SELECT {WHOSE}, c.step, c.task, c.round, c.llm, c.error IS NULL AS answered, c.prompt_tokens, c.completion_tokens,
       c.cost_usd, c.ms, c.first_ms, c.finish, c.protocol, c.asked, c.attempt, c.error, c.message, c.again_in_s,
       c.happened_at, c.version
FROM (SELECT * FROM raw.call UNION ALL BY NAME SELECT * FROM raw.failure) c {_STREAM.format("c")}
"""

# Every record of a change holds all values; shown are those that differ from the record before.
SETTINGS = f"""
SELECT {WHOSE}, v.step, v.setting, v.value, v.before, v.hash, v.happened_at, v.version
FROM (SELECT *, lag(value) OVER each_one AS before, row_number() OVER each_one AS nth FROM raw.setting_value
      WINDOW each_one AS (PARTITION BY stream, setting ORDER BY version)) v
{_STREAM.format("v")}
WHERE NOT v.inherited AND (v.nth = 1 OR v.value IS DISTINCT FROM v.before)
"""

BOOKMARKS = f"""
SELECT {WHOSE}, b.page, b.keywords, b.stub, b.description, b.tokens, b.origin, b.weight, b.step AS made_step,
       b.happened_at AS made_at, b.version
FROM raw.bookmark b {_STREAM.format("b")}
WHERE NOT b.inherited
"""

PAGES = f"""
SELECT {WHOSE}, g.page, g.first_turn, g.last_turn, g.tokens, c.rule, c.importance, c.why, c.step AS closed_step,
       coalesce(v.n, 0) AS evictions, coalesce(f.n, 0) AS faults, coalesce(u.n, 0) AS uses
FROM {_RANGES} g
{_STREAM.format("g")}
LEFT JOIN raw.closing c ON c.stream = g.stream AND c.page = g.page
LEFT JOIN (SELECT stream, page, count(*) AS n FROM raw.eviction GROUP BY stream, page) v
       ON v.stream = g.stream AND v.page = g.page
LEFT JOIN (SELECT stream, page, count(*) AS n FROM raw.paging GROUP BY stream, page) f
       ON f.stream = g.stream AND f.page = g.page
LEFT JOIN (SELECT stream, page, count(*) AS n FROM raw.use GROUP BY stream, page) u
       ON u.stream = g.stream AND u.page = g.page
WHERE g.own
"""

QUERIES = {
    "turns": TURNS,
    "steps": STEPS,
    "events": EVENTS,
    "prompts": PROMPTS,
    "evictions": EVICTIONS,
    "recalls": RECALLS,
    "retrievals": RETRIEVALS,
    "retrieval_candidates": CANDIDATES,
    "llm_calls": LLM_CALLS,
    "settings": SETTINGS,
    "bookmarks": BOOKMARKS,
    "pages": PAGES,
    **fact_views.QUERIES,
}

ABOUT: dict[str, str] = {
    "turns": "One row a turn: who said what, when, and on which page it stands.",
    "steps": "One row a step: a user's message through its reply, with times, tokens, cost and what moved.",
    "events": "The log itself, one row a record.",
    "prompts": "One row a call of the model: how many tokens each section of the prompt took.",
    "evictions": "One row each time a page left the window: why this page, what stayed behind, was it missed.",
    "recalls": "One row a recall: what was asked and what came of it.",
    "retrievals": "One row each time a question was compared with the pages: what was chosen, and by what.",
    "retrieval_candidates": "One row a page that a retrieval considered, with what each channel said of it.",
    "llm_calls": "One row a call of a model, those that failed included.",
    "settings": "One row each time a setting took another value; the first values of a run included.",
    "bookmarks": "One row for every version of every bookmark.",
    "pages": "One row a page, the one that still grows included.",
    **fact_views.ABOUT,
}

_WHOSE = {
    "user": "whose memory",
    "conversation": "which conversation",
    "run": "live, recorded, or the name of a replay; a branch shows only its own rows",
}
_WHEN = {"happened_at": "when it was recorded, UTC", "version": "place in the run's own log, from 1"}

VIEWS: dict[str, dict[str, str]] = {
    "turns": {
        **_WHOSE,
        "turn": "number of the turn, from 1",
        "role": "user, assistant, tool or system",
        "speaker": "name of who spoke, empty if only the role is known",
        "said_at": "when it was said",
        "tokens": "of all its pieces, with what the chat format adds",
        "pieces": "in how many pieces a long message was cut, 1: not cut",
        "page": "page that it stands on; for a cut message that of its first piece",
        "step": "step that it belongs to",
        "important": "marked by the user",
        "text": "its words",
    },
    "steps": {
        **_WHOSE,
        "step": "number of the step, from 1",
        "state": "finished, abandoned, or running",
        "reason": "why it was abandoned",
        "started_at": "when its message was safe",
        "ended_at": "when its reply was committed; empty while it runs",
        "total_ms": "milliseconds of all stages",
        **{f"{stage}_ms": f"milliseconds in stage {stage}; empty where it did not take place" for stage in STAGES},
        "prompt_tokens": "as the model counted them, all its calls for this reply",
        "completion_tokens": "the same for what it answered",
        "cost_usd": "of these calls; empty if the price of one is unknown",
        "calls": "calls of the model for the reply",
        "recalls": "recalls in this step",
        "faults": "pages that came back",
        "evictions": "pages that left",
        "work_calls": "calls of a model for work on the memory, in the step and after it; llm_calls has each",
        "work_tokens": "of these calls, asked and answered",
        "settings": "hash of the settings it ran under",
    },
    "events": {
        "seq": "place in the store's log",
        **_WHOSE,
        "version": _WHEN["version"],
        "step": "step that it belongs to, 0: before the first",
        "turn": "of messages only: the turn that was said",
        "kind": "what happened",
        "happened_at": _WHEN["happened_at"],
        "body": "the record as JSON; words stand in it as ids",
    },
    "prompts": {
        **_WHOSE,
        "step": "step that it belongs to",
        "round": "0, or how many recalls came before it in this step",
        "tokens": "of the whole prompt, as we count",
        **{section: f"tokens of section {section}" for section in SECTIONS},
        "hash": "names the prompt: same hash, same prompt",
        "messages": "how many messages it has",
        **_WHEN,
    },
    "evictions": {
        **_WHOSE,
        "step": "step in which it left",
        "page": "page that left",
        "policy": "eviction policy that chose it",
        "score": "its score: the lowest leaves",
        "runner_up": "page that would have left next; empty: there was none",
        "runner_up_score": "and its score",
        "freed_tokens": "tokens that it gave back",
        "cause": "what made room necessary",
        "used_tokens": "tokens in use before it left",
        "limit_tokens": "limit that they were over",
        "decided_by": "of the cooperative policy: rule, age, model or fallback; empty under the others",
        "why": "what that says of this page",
        "stub": "bookmark that stayed in its place, as it was then",
        "first_turn": "first turn on the page",
        "last_turn": "last turn on the page",
        "faults_after": "how often it was brought back afterwards",
        **_WHEN,
    },
    "recalls": {
        **_WHOSE,
        "step": "step that it belongs to",
        "asked_by": "model, recorded, user or probe",
        "asked": "names of pages it asked for",
        "question": "words it asked with, empty if none",
        "came": "pages that came back",
        "resident": "pages that were there already",
        "refused": "what did not come, each with its reason",
        "was_right": "against labels: is the evidence there now; empty without labels",
        "note": "why a question found nothing",
        **_WHEN,
    },
    "retrievals": {
        **_WHOSE,
        "step": "step that it belongs to",
        "asked_by": "message (each step's own), recall or user",
        "question": "its words",
        "strategy": "how pages were ranked",
        "embedder": "whose vectors; empty: by words only",
        "k": "the most that are chosen",
        "chosen": "pages, best first",
        "considered": "pages with a row in retrieval_candidates",
        "channels": "what was compared",
        "stages": "pages left after each stage",
        "thresholds": "what decided, by name with its unit",
        "note": "why nothing was chosen, or what was fallen back to",
        "ms": "milliseconds it took",
        **_WHEN,
    },
    "retrieval_candidates": {
        **_WHOSE,
        "step": "step that it belongs to",
        "version": "of its row in retrievals",
        "place": "1: the best",
        "page": "page that was considered",
        "turn": "turn that the score comes from",
        "score": "all shares together",
        "stage": "that dropped it: threshold, rank, duplicate; empty: it was chosen",
        "dropped": "why, with the numbers",
        "raw": "by channel, each in its own unit: raw['words']",
        "shares": "by channel, what it adds to the score",
    },
    "llm_calls": {
        **_WHOSE,
        "step": "step that it belongs to",
        "task": "reply, or memory work: eviction, bookmark",
        "round": "how many recalls came before it in this step",
        "llm": "which model",
        "answered": "false: it failed",
        "prompt_tokens": "as the model counted them",
        "completion_tokens": "the same for what it answered",
        "cost_usd": "empty if the price is unknown",
        "ms": "milliseconds until the answer was whole, or until it failed; empty: not measured",
        "first_ms": "milliseconds until the first piece of a stream; empty: no stream, or not measured",
        "finish": "why it stopped, in the provider's word",
        "protocol": "how memory operations were offered: tools, schema; empty: not at all",
        "asked": "operations and tools that it asked for",
        "attempt": "of one that failed: which try it was",
        "error": "class of the error",
        "message": "what the error says",
        "again_in_s": "seconds until it was tried again; empty: it was not",
        **_WHEN,
    },
    "settings": {
        **_WHOSE,
        "step": "step before which it changed, 0: at the beginning",
        "setting": "its name",
        "value": "its value from here on",
        "before": "the value before; empty: the first",
        "hash": "names all values together, as in steps",
        **_WHEN,
    },
    "bookmarks": {
        **_WHOSE,
        "page": "its page",
        "keywords": "separated by commas; empty: a bare bookmark",
        "stub": "as it stands in the prompt",
        "description": "one readable sentence",
        "tokens": "of the stub",
        "origin": "generator that made it, or user",
        "weight": "2: from a message that the user marked",
        "made_step": "step in which it was made",
        "made_at": "when it was made, UTC",
        "version": _WHEN["version"],
    },
    "pages": {
        **_WHOSE,
        "page": "number of the page, from 1",
        "first_turn": "first turn on it",
        "last_turn": "last turn on it, so far",
        "tokens": "of its turns",
        "rule": "boundary rule that closed it; empty: it still grows",
        "importance": "0 to 1",
        "why": "reason of the importance",
        "closed_step": "step in which it closed; empty: it still grows",
        "evictions": "how often it left in this run",
        "faults": "how often it came back in this run",
        "uses": "replies that used its words",
    },
    **fact_views.VIEWS,
}

CREATE_TABLES = BASE + STEP_PART + "".join(taken.create for taken in TAKEN)
CREATE_VIEWS = "".join(f"CREATE VIEW {name} AS {query};\n" for name, query in QUERIES.items())
TABLES = ("about", "stream", "event", "word", "step_part", *(taken.table for taken in TAKEN))
