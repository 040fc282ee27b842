"""The URL of a webhook, for tests in which every target is a webhook."""

from timeball.domain.model.terms.target import HttpTarget, Target


def url_of(target: Target) -> str:
    """Return the URL of a target, which is a webhook."""
    assert isinstance(target, HttpTarget)
    return target.url
