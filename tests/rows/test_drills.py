"""The drill of a deployment amid traffic is played by two releases, and keeps every promise."""

from tests.rows.drills import deploy_amid_traffic


def test_a_deployment_amid_traffic_keeps_every_promise() -> None:
    story, found = deploy_amid_traffic()
    assert story.hardships.has_two_releases
    assert story.store.versions() >= {1, 100}
    assert not found, "\n".join(found)
