"""Marks of a store's files: nothing that is there is passed over, and most else is."""

from hypothesis import given
from hypothesis import strategies as st

from privcurve.experiments.keys import Keys, Marks

SCHEME, OTHER = "00c0ffee", "deadbeef"
numbers = st.integers(0, 2**64 - 1)


def name(mark):
    return f"20260101T000000-host-1-abcdef01{mark}.jsonl"


@given(written=st.sets(numbers, min_size=1), wanted=numbers)
def test_a_file_may_hold_every_key_that_was_written_to_it(written, wanted):
    marked = name(Keys(SCHEME, written).mark)
    for key in written:
        assert Keys(SCHEME, {key, wanted}).may_hold(marked)
        assert Marks(SCHEME, [marked]).may_hold(key)
    assert Marks(SCHEME, [marked]).may_hold(wanted) == Keys(SCHEME, {wanted}).may_hold(marked)


@given(shards=st.sampled_from([1, 2, 16, 2048]), data=st.data())
def test_a_job_passes_over_the_files_of_other_shards(shards, data):
    shard = data.draw(st.integers(0, shards - 1))
    keys = data.draw(st.sets(numbers.map(lambda n: n // shards * shards + shard), min_size=1))
    marked = name(Keys(SCHEME, keys).mark)
    for other in range(min(shards, 16)):
        if other != shard:
            assert not Keys(SCHEME, {other, other + shards}).may_hold(marked)
            assert not Marks(SCHEME, [marked]).may_hold(other)


def test_files_without_a_mark_or_of_another_scheme_are_always_read():
    for unclear in (name(""), name(Keys(OTHER, {1}).mark), "what.jsonl"):
        assert Keys(SCHEME, {0}).may_hold(unclear)
        assert Marks(SCHEME, [unclear]).may_hold(0)
    assert not Marks(SCHEME, []).may_hold(0)
