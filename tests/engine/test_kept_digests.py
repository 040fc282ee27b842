"""A process keeps the digests that were read last, and drops the digest that was read longest ago."""

from timeball.engine.kept_digests import kept_under


def test_a_key_has_its_digests_again_and_the_one_that_was_read_longest_ago_goes() -> None:
    digests: dict[object, object] = {}
    first, second = kept_under(digests, "first", 2), kept_under(digests, "second", 2)
    assert kept_under(digests, "first", 2) is first
    kept_under(digests, "third", 2)
    assert [*digests] == ["first", "third"]
    assert kept_under(digests, "second", 2) is not second
