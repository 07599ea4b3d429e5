"""What `workbench sql` may ask about long-term memory: views over the users' own logs, beside those of views.py.

A fact's state and intervals are those of the last record about it; what was believed when is one row an interval
(`fact_versions`), put together from the records as facts.py's fold does. Whatever was erased has no words here, either.
"""

# ruff: noqa: S608 # SQL is put together from the constants of this file alone

from __future__ import annotations

from memory.stores.taken import Taken

_HOLDS = '"holds":[{"valid_from":"TIMESTAMPTZ","valid_to":"TIMESTAMPTZ"}]'
_INTERVALS = "STRUCT(valid_from TIMESTAMPTZ, valid_to TIMESTAMPTZ)[]"

TAKEN = (
    Taken(
        "fact", ("FactWritten",),
        '{"change":"INTEGER","at":"TIMESTAMPTZ","fact":{"id":"INTEGER","text":"BIGINT","key":"VARCHAR",'
        '"subject":"BIGINT","attribute":"BIGINT","value":"BIGINT","kind":"VARCHAR","layer":"VARCHAR",'
        '"conversation":"VARCHAR","tags":"BIGINT","negated":"BOOLEAN","single":"BOOLEAN","origin":"VARCHAR",'
        '"by":"VARCHAR","importance":"DOUBLE","tokens":"INTEGER","state":"VARCHAR","why":"VARCHAR",'
        '"written_in":"VARCHAR","sources":"JSON"},' + _HOLDS + "}",
        {"fact": ("INTEGER", "b.fact.id"), "change": ("INTEGER", "b.change"), "at": ("TIMESTAMPTZ", 'b."at"'),
         "text": ("VARCHAR", "said.content"), "subject": ("VARCHAR", "subject.content"),
         "attribute": ("VARCHAR", "attribute.content"), "value": ("VARCHAR", "value.content"),
         "tags": ("VARCHAR", "tags.content"), "fact_key": ("VARCHAR", "nullif(b.fact.key, '')"),
         "fact_kind": ("VARCHAR", "b.fact.kind"), "layer": ("VARCHAR", "b.fact.layer"),
         "only_in": ("VARCHAR", "nullif(b.fact.conversation, '')"), "negated": ("BOOLEAN", "b.fact.negated"),
         "single": ("BOOLEAN", "b.fact.single"), "origin": ("VARCHAR", "b.fact.origin"),
         "drawn_by": ("VARCHAR", "b.fact.by"), "importance": ("DOUBLE", "b.fact.importance"),
         "tokens": ("INTEGER", "b.fact.tokens"), "state": ("VARCHAR", "b.fact.state"),
         "why": ("VARCHAR", "nullif(b.fact.why, '')"), "written_in": ("VARCHAR", "b.fact.written_in"),
         "sources": ("INTEGER", "coalesce(json_array_length(b.fact.sources), 0)"), "holds": (_INTERVALS, "b.holds")},
        words=(("said", "fact.text"), ("subject", "fact.subject"), ("attribute", "fact.attribute"),
               ("value", "fact.value"), ("tags", "fact.tags")),
    ),
    Taken(
        "fact_revision", ("FactRevised",),
        '{"change":"INTEGER","fact":"INTEGER","state":"VARCHAR","why":"VARCHAR","at":"TIMESTAMPTZ",' + _HOLDS + "}",
        {"fact": ("INTEGER", "b.fact"), "change": ("INTEGER", "b.change"), "at": ("TIMESTAMPTZ", 'b."at"'),
         "state": ("VARCHAR", "b.state"), "why": ("VARCHAR", "nullif(b.why, '')"), "holds": (_INTERVALS, "b.holds")},
    ),
    Taken(
        "fact_weight", ("FactWeighed",),
        '{"change":"INTEGER","fact":"INTEGER","importance":"DOUBLE","layer":"VARCHAR","conversation":"VARCHAR"}',
        {"fact": ("INTEGER", "b.fact"), "change": ("INTEGER", "b.change"), "importance": ("DOUBLE", "b.importance"),
         "layer": ("VARCHAR", "b.layer"), "only_in": ("VARCHAR", "nullif(b.conversation, '')")},
    ),
    Taken(
        "fact_source", ("FactSourced",), '{"change":"INTEGER","fact":"INTEGER"}',
        {"fact": ("INTEGER", "b.fact"), "change": ("INTEGER", "b.change")},
    ),
    Taken(
        "fact_erased", ("TextErased",), '{"facts":["INTEGER"],"by":"VARCHAR","at":"TIMESTAMPTZ"}',
        {"fact": ("INTEGER", "i.fact"), "decided_by": ("VARCHAR", "b.by"), "at": ("TIMESTAMPTZ", 'b."at"')},
        each="list_transform(b.facts, lambda f: struct_pack(fact := f))",
    ),
    Taken(
        "fact_change", ("FactsChanged",),
        '{"change":"INTEGER","cause":"VARCHAR","decided_by":"VARCHAR","at":"TIMESTAMPTZ","why":"VARCHAR",'
        '"old":["INTEGER"],"new":"INTEGER","undoes":"INTEGER"}',
        {"change": ("INTEGER", "b.change"), "cause": ("VARCHAR", "b.cause"), "decided_by": ("VARCHAR", "b.decided_by"),
         "at": ("TIMESTAMPTZ", 'b."at"'), "why": ("VARCHAR", "nullif(b.why, '')"), "old": ("INTEGER[]", "b.old"),
         "new": ("INTEGER", "nullif(b.new, 0)"), "undoes": ("INTEGER", "nullif(b.undoes, 0)")},
    ),
    Taken(
        "conflict", ("ConflictFound",),
        '{"change":"INTEGER","conflict":"INTEGER","facts":["INTEGER"],"why":"VARCHAR","rule":"VARCHAR",'
        '"would_win":"INTEGER","at":"TIMESTAMPTZ"}',
        {"conflict": ("INTEGER", "b.conflict"), "change": ("INTEGER", "b.change"), "facts": ("INTEGER[]", "b.facts"),
         "why": ("VARCHAR", "b.why"), "rule": ("VARCHAR", "b.rule"), "would_win": ("INTEGER", "nullif(b.would_win, 0)"),
         "at": ("TIMESTAMPTZ", 'b."at"')},
    ),
    Taken(
        "settling", ("ConflictSettled",),
        '{"change":"INTEGER","conflict":"INTEGER","winner":"INTEGER","decided_by":"VARCHAR","at":"TIMESTAMPTZ",'
        '"open":"BOOLEAN"}',
        {"conflict": ("INTEGER", "b.conflict"), "change": ("INTEGER", "b.change"),
         "winner": ("INTEGER", "nullif(b.winner, 0)"), "decided_by": ("VARCHAR", "b.decided_by"),
         "at": ("TIMESTAMPTZ", 'b."at"'), "reopened": ("BOOLEAN", "b.open")},
    ),
    Taken(
        "outcome", ("TurnRemembered",),
        '{"conversation":"VARCHAR","turn":"INTEGER","extractor":"VARCHAR","at":"TIMESTAMPTZ","raw":"BIGINT",'
        '"outcomes":[{"verdict":"VARCHAR","reason":"VARCHAR","fact":"INTEGER","others":["INTEGER"],"text":"BIGINT"}]}',
        {"said_in": ("VARCHAR", "b.conversation"), "turn": ("INTEGER", "nullif(b.turn, 0)"),
         "extractor": ("VARCHAR", "b.extractor"), "at": ("TIMESTAMPTZ", 'b."at"'), "verdict": ("VARCHAR", "i.verdict"),
         "reason": ("VARCHAR", "i.reason"), "fact": ("INTEGER", "nullif(i.fact, 0)"),
         "others": ("INTEGER[]", "i.others"), "text": ("VARCHAR", "said.content"),
         "raw": ("VARCHAR", "answer.content")},
        each="b.outcomes", words=(("said", "i.text"), ("answer", "raw")),
    ),
)  # fmt: skip

# ── the views ─────────────────────────────────────────────────────────────────────────────────────────

_USER = 's."user"'
_STREAM = "JOIN raw.stream s ON s.id = {0}.stream"
_ENDLESS = "TIMESTAMPTZ '9999-12-31 23:59:59.999999+00'"
_BEGINNING = "TIMESTAMPTZ '0001-01-01 00:00:00+00'"

# Each says what is believed of a fact from then on; the erase of its words: nothing.
_RECORDS = """(
    SELECT stream, version, fact, change, "at", state, why, holds FROM raw.fact
    UNION ALL BY NAME SELECT stream, version, fact, change, "at", state, why, holds FROM raw.fact_revision
    UNION ALL BY NAME SELECT stream, version, fact, "at", 'erased' AS state, [] AS holds FROM raw.fact_erased)"""

FACTS = f"""
SELECT {_USER}, f.fact, f.text, f.subject, f.attribute, f.value, f.negated, f.fact_kind AS kind,
       coalesce(w.layer, f.layer) AS layer, CASE WHEN w.layer IS NULL THEN f.only_in ELSE w.only_in END AS conversation,
       l.state, l.why, nullif(list_max(list_transform(l.holds, lambda h: h.valid_from)), {_BEGINNING}) AS since,
       nullif(list_max(list_transform(l.holds, lambda h: h.valid_to)), {_ENDLESS}) AS until,
       len(l.holds) > 0 AS believed, coalesce(w.importance, f.importance) AS importance, f.tags, f.origin, f.drawn_by,
       f.sources + coalesce(m.n, 0) AS sources, f.tokens, f.written_in, f.happened_at, f.version
FROM raw.fact f
{_STREAM.format("f")}
JOIN (SELECT stream, fact, arg_max(state, version) AS state, max_by(struct_pack(why := why), version).why AS why,
             arg_max(holds, version) AS holds FROM {_RECORDS} GROUP BY stream, fact) l
  ON l.stream = f.stream AND l.fact = f.fact
LEFT JOIN (SELECT stream, fact, arg_max(importance, version) AS importance, arg_max(layer, version) AS layer,
                  max_by(struct_pack(c := only_in), version).c AS only_in FROM raw.fact_weight GROUP BY stream, fact) w
       ON w.stream = f.stream AND w.fact = f.fact
LEFT JOIN (SELECT stream, fact, count(*)::INTEGER AS n FROM raw.fact_source GROUP BY stream, fact) m
       ON m.stream = f.stream AND m.fact = f.fact
"""

# An interval that goes on unchanged from record to record is one belief: its place among the fact's records grows as
# fast as its own count, so the difference names the belief.
FACT_VERSIONS = f"""
SELECT {_USER}, b.fact, f.attribute, f.value, f.text, nullif(b.valid_from, {_BEGINNING}) AS valid_from,
       nullif(b.valid_to, {_ENDLESS}) AS valid_to, b.recorded_from, n."at" AS recorded_to, b.change,
       n.change AS ended_by
FROM (SELECT stream, fact, valid_from, valid_to, min("at") AS recorded_from, arg_min(change, place) AS change,
             max(place) AS last
      FROM (SELECT stream, fact, place, change, "at", h.valid_from, h.valid_to,
                   place - row_number() OVER (PARTITION BY stream, fact, h ORDER BY place) AS belief
            FROM (SELECT *, row_number() OVER (PARTITION BY stream, fact ORDER BY version) AS place FROM {_RECORDS}),
                 unnest(holds) AS each(h))
      GROUP BY stream, fact, valid_from, valid_to, belief) b
{_STREAM.format("b")}
JOIN raw.fact f ON f.stream = b.stream AND f.fact = b.fact
LEFT JOIN (SELECT *, row_number() OVER (PARTITION BY stream, fact ORDER BY version) AS place FROM {_RECORDS}) n
       ON n.stream = b.stream AND n.fact = b.fact AND n.place = b.last + 1
"""

CONFLICTS = f"""
SELECT {_USER}, c.conflict, c.facts, c.why, c.rule, c.would_win, c."at" AS found_at,
       coalesce(NOT e.reopened, false) OR coalesce(len(list_intersect(c.facts, g.gone)) >= len(c.facts) - 1, false)
       AS settled, e.winner, e.decided_by, e."at" AS settled_at, c.change
FROM raw.conflict c
{_STREAM.format("c")}
LEFT JOIN (SELECT stream, conflict, reopened, if(reopened, NULL, winner) AS winner,
                  if(reopened, NULL, decided_by) AS decided_by, if(reopened, NULL, "at") AS "at" FROM raw.settling
           QUALIFY row_number() OVER (PARTITION BY stream, conflict ORDER BY version DESC) = 1) e
       ON e.stream = c.stream AND e.conflict = c.conflict
LEFT JOIN (SELECT stream, list(fact) AS gone FROM raw.fact_erased GROUP BY stream) g ON g.stream = c.stream
"""

LEDGER = f"""
SELECT {_USER}, o.said_in AS conversation, o.turn, o.extractor, o.verdict, o.reason, o.fact, o.others, o.text, o.raw,
       o."at" AS looked_at, o.version
FROM raw.outcome o {_STREAM.format("o")}
"""

CHANGES = f"""
SELECT {_USER}, c.change, c.cause, c.decided_by, c.why, c.old, c.new, c.undoes, u.change AS undone_by,
       c."at" AS changed_at, c.version
FROM raw.fact_change c
{_STREAM.format("c")}
LEFT JOIN (SELECT stream, undoes, max(change) AS change FROM raw.fact_change WHERE undoes > 0 GROUP BY stream, undoes) u
       ON u.stream = c.stream AND u.undoes = c.change
"""

QUERIES = {
    "facts": FACTS,
    "fact_versions": FACT_VERSIONS,
    "conflicts": CONFLICTS,
    "ledger": LEDGER,
    "changes": CHANGES,
}

ABOUT = {
    "facts": "One row a fact that is remembered about a user, as it stands now, those that hold no more included.",
    "fact_versions": "One row each time something was believed of a fact: when it was true, and when we thought so.",
    "conflicts": "One row a conflict: facts that cannot all hold, and who decided.",
    "ledger": "One row for everything that a turn held, kept or not, with the reason.",
    "changes": "One row a change of what is remembered: who, when and why.",
}

_WHOM = {"user": "whose memory"}

VIEWS: dict[str, dict[str, str]] = {
    "facts": {
        **_WHOM,
        "fact": "number of the fact, from 1: f1, f2, … of this user",
        "text": "the entry in words; blank where it was erased",
        "subject": "whom or what it is about; user: whoever speaks",
        "attribute": "what of it; empty: text only",
        "value": "the value",
        "negated": "that it does not hold is what was said",
        "kind": "fact, preference, decision or task",
        "layer": "semantic, episodic, or working: of one conversation only",
        "conversation": "of a working fact: the only one that may read it",
        "state": "active, conflicted, superseded, retracted, quarantined or erased",
        "why": "it is in this state",
        "since": "begin of the newest time in which it holds; empty: always, or never",
        "until": "end of that; empty: no end is known",
        "believed": "false: it is not thought to hold at any time",
        "importance": "0 to 1; from 0.8 it comes unasked",
        "tags": "topic:… and intent:…, separated by blanks",
        "origin": "inference, statement or correction",
        "drawn_by": "rules, a model, or a person",
        "sources": "how often it was said",
        "tokens": "of the entry",
        "written_in": "conversation in which it was first said; ~: in none",
        "happened_at": "when it was recorded, UTC",
        "version": "place in the user's own log, from 1",
    },
    "fact_versions": {
        **_WHOM,
        "fact": "number of the fact",
        "attribute": "what it is about",
        "value": "the value",
        "text": "the entry in words",
        "valid_from": "from when it was true; empty: always",
        "valid_to": "until when, excluded; empty: no end is known",
        "recorded_from": "from when we thought so",
        "recorded_to": "until when, excluded; empty: we think so now",
        "change": "that made us think so",
        "ended_by": "change that ended it; empty with a time: an erase",
    },
    "conflicts": {
        **_WHOM,
        "conflict": "number of the conflict, from 1",
        "facts": "its sides",
        "why": "they cannot all hold",
        "rule": "that would decide",
        "would_win": "fact that would hold by it",
        "found_at": "when it was found, UTC",
        "settled": "somebody decided, or one side was erased",
        "winner": "fact that holds; empty: all of them, or undecided",
        "decided_by": "who",
        "settled_at": "when, UTC",
        "change": "in which it was found",
    },
    "ledger": {
        **_WHOM,
        "conversation": "in which it was said; ~: in none",
        "turn": "that was looked at",
        "extractor": "rules, or a model",
        "verdict": "stored, known, superseded, merged, conflict, slotted, ended, quarantined, refused, or none",
        "reason": "why",
        "fact": "that was written, or knew it",
        "others": "facts that changed with it",
        "text": "words of what became no fact",
        "raw": "a model's answer that could not be read",
        "looked_at": "when it was looked at, UTC",
        "version": "place in the user's own log",
    },
    "changes": {
        **_WHOM,
        "change": "number of the change, from 1",
        "cause": "write, supersede, slot, merge, end, conflict, resolve, correct, forget, mark, undo, consolidate, …",
        "decided_by": "a rule, a model, or a person",
        "why": "in words of ours",
        "old": "facts before …",
        "new": "… and the one after",
        "undoes": "change that it takes back",
        "undone_by": "change that took it back",
        "changed_at": "when, UTC",
        "version": "place in the user's own log",
    },
}
