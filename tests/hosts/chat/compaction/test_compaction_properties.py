"""Whatever a chat looks like, compaction loses nothing, separates nothing and makes it shorter."""

import re
from collections import Counter
from itertools import compress, pairwise

from compaction_chats import (
    RULE,
    blocks_of,
    chats,
    compacted,
    document_of,
    keeps,
    slice_of,
    strategies,
    undone,
)
from hypothesis import HealthCheck, given, settings

from bylaw.hosts.chat.compaction.units import read_keep
from bylaw.hosts.chat.request import messages_of, orphan_responses, size_of, unanswered_calls
from bylaw.model.vocabulary import Role

often = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))


def shown(text):
    return [(b.kind, b.role, b.text, b.call, b.via_rule) for b in blocks_of(text)]


def without_summary(blocks, done):
    """The blocks that were there before."""
    return [one for one in blocks if not (one[4] == RULE and done.replaced)]


@often
@given(chats(), keeps, strategies)
def test_the_file_reads_back_and_nothing_is_lost(text, keep, strategy):
    done, new = compacted(text, keep, strategy)
    assert undone(text, new) == text
    if not done.replaced:
        assert new == text
        return
    document = document_of(new)
    archives = [one for one in document.elements if one.name == "archive"]
    ours = [one for one in archives if one.value("via_rule") == RULE]
    assert sum(int(one.value("messages")) for one in ours) == done.replaced
    put_away = [one for archive in ours for one in shown(inside(new, archive))]
    kept = without_summary(shown(new), done)
    assert Counter(put_away) + Counter(kept) == Counter(shown(text))
    rest = iter(shown(text))
    assert all(one in rest for one in kept), "in another order"


def inside(text, archive):
    return text[archive.start.end : archive.end.start]


@often
@given(chats(), keeps, strategies)
def test_no_call_is_separated_from_its_response(text, keep, strategy):
    _, new = compacted(text, keep, strategy)
    blocks = blocks_of(new)
    assert orphan_responses(blocks) == []
    waiting = [one.call for one in unanswered_calls(blocks_of(text))]
    assert [one.call for one in unanswered_calls(blocks)] == waiting
    sent = messages_of(blocks)
    for place, one in enumerate(sent):
        calls = [call.id for call in one.calls if call.id not in waiting]
        behind = sent[place + 1 : place + 1 + len(calls)]
        assert {answer.answers for answer in behind} == set(calls)


@often
@given(chats(), keeps, strategies)
def test_what_is_to_be_kept_is_kept(text, keep, strategy):
    done, new = compacted(text, keep, strategy)
    wanted = read_keep(keep)
    left = Counter(without_summary(shown(new), done))
    assert Counter(one for one in shown(text) if one[1] in wanted.roles) <= left
    others = [one for one in messages(text) if one[1] not in wanted.roles]
    latest = others[len(others) - min(wanted.latest, len(others)) :]
    assert Counter(latest) <= left


def messages(text):
    """The blocks that `size_of` counts."""
    blocks = blocks_of(text)
    lengths = [size_of(blocks[:end])[0] for end in range(len(blocks) + 1)]
    grows = [more > less for less, more in pairwise(lengths)]
    return list(compress(shown(text), grows))


@often
@given(chats(), keeps, strategies)
def test_it_becomes_shorter_or_stays_as_it_is(text, keep, strategy):
    before = size_of(blocks_of(text))
    done, new = compacted(text, keep, strategy)
    after = size_of(blocks_of(new))
    assert after == (done.length, done.tokens)
    if done.replaced:
        assert after[1] < before[1]
        assert 1 <= done.first <= done.last <= before[0]
        assert done.replaced <= done.last - done.first + 1
    else:
        assert after == before


@often
@given(chats(), keeps, strategies)
def test_the_summary_stands_directly_behind_the_last_archive(text, keep, strategy):
    done, new = compacted(text, keep, strategy)
    document = document_of(new)
    ours = [one for one in document.elements if one.value("via_rule") == RULE]
    summaries = [one for one in ours if one.name == "user"]
    if not done.replaced:
        assert ours == []
        return
    assert len(summaries) == ("summary" in strategy)
    for summary in summaries:
        assert ours[-1] is summary
        assert new[ours[-2].span.end : summary.span.start] == "\n"
        (block,) = blocks_of(slice_of(new, summary))
        assert block.role is Role.USER
        assert block.synthetic
        inner = block.text.removeprefix("<system-reminder>\n").removesuffix("\n</system-reminder>")
        assert not re.search("</?system-reminder", inner, re.IGNORECASE)


@settings(often, max_examples=50)
@given(chats(), keeps, strategies)
def test_it_is_always_the_same(text, keep, strategy):
    assert compacted(text, keep, strategy) == compacted(text, keep, strategy)


@settings(often, max_examples=100)
@given(chats(turns=12), keeps, strategies)
def test_it_can_be_done_again(text, keep, strategy):
    first, once = compacted(text, keep, strategy)
    again, twice = compacted(once, "system", strategy)
    assert undone(once, twice) == once
    assert again.tokens <= first.tokens
