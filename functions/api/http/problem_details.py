"""What the documentation says of a problem: the model of its JSON, whole or as the result of one item of many."""

from pydantic import BaseModel, Field

from functions.api.http.problems import MAX_ERRORS


class FieldProblem(BaseModel):
    """One bad field and what to do about it."""

    field: str = Field(description="Its path, such as `target.headers.Host`.")
    message: str


class ItemProblem(BaseModel):
    """Why one item of a request was refused."""

    type: str = Field(description="Stable; one of `urn:timeball:problem:...`.")
    title: str
    status: int
    detail: str = Field(description="One sentence that a person can act on.")
    quota: str | None = Field(default=None, description="The name of the quota that is used up, if one is.")
    errors: list[FieldProblem] = Field(
        default_factory=list, description=f"Every bad field, at once; of more than {MAX_ERRORS} the first {MAX_ERRORS}."
    )


class ProblemDetails(ItemProblem):
    """An RFC 9457 problem."""

    instance: str = Field(description="The id of the request, also in `X-Request-Id`.")
