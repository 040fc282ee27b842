"""Rotate the secret that signs the tokens of attempts; no answer contains it."""

from pydantic import Field

from timeball.api.http.access import Access
from timeball.api.http.edge import ApiContext, note
from timeball.api.http.exchange import AnswerModel, Reply, Request, Time, ok
from timeball.api.http.route import Router
from timeball.domain.attempts.callback_token import ACCEPTED_MS, SIGNS_AFTER_MS, rotated
from timeball.domain.model.tenants.actor import Action, Resource, ResourceKind

router = Router()


class RotationAnswer(AnswerModel):
    """The last rotation of the secret that signs the tokens of attempts."""

    rotated_at: Time = Field(description="When the newest secret was made.")
    signs_from: Time = Field(description="From when tokens are signed with the newest secret.")
    accepted_until: Time = Field(
        description="Until when tokens of the previous secret are accepted; no other rotation begins before then."
    )


@router.post(
    "/v1/admin/signing-secret/rotate",
    "Replace the secret that signs the tokens of attempts; tokens of attempts under way stay valid",
    RotationAnswer,
    access=Access.ADMINISTER_ALL,
)
def rotate_signing_secret(edge: ApiContext, request: Request) -> Reply:
    """Make a new secret the newest; while the previous one is accepted, return the rotation that replaced it."""
    now = edge.context.clock.now()
    first, fresh = _draw(edge), _draw(edge)
    signing = edge.context.store.signing
    if rotated(signing.secrets(first), fresh, now) is not None:
        note(edge, request, Action.ROTATE, Resource(ResourceKind.SIGNING, ""))
    at = signing.rotate(fresh, now).rotated_at
    dates = {"rotated_at": at, "signs_from": at + SIGNS_AFTER_MS, "accepted_until": at + ACCEPTED_MS}
    return ok(RotationAnswer.model_validate(dates))


def _draw(edge: ApiContext) -> str:
    return (edge.random_bytes() + edge.random_bytes()).hex()
