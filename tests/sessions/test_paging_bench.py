from sessions.paging_bench import forward, gaps


def test_the_made_up_talk_moves_forward_and_asks_of_nothing_unsaid():
    (made,) = forward(conversations=1, pages=12)
    probes = made.talk.probes
    assert all(max(p.evidence) <= p.at for p in probes)
    assert sum(p.at - max(p.evidence) <= 40 for p in probes) > len(probes) / 2


def test_of_the_gap_nothing_is_closed_by_the_best_plain_policy_and_all_by_the_oracle():
    found = gaps(forward(conversations=1, pages=12))["k = 5"]
    hits = found["hits"]
    best, gap = max(hits[p] for p in ("fifo", "lru", "lfu")), hits["oracle"]
    assert best <= gap
    assert all(abs(closed - (hits[p] - best) / (gap - best)) < 1e-3 for p, closed in found["closed"].items())
