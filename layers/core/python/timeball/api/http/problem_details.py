"""The documented model of a problem's JSON, as a whole answer or as the result of one item."""

from pydantic import BaseModel, Field

from timeball.api.http.problems import MAX_ERRORS


class FieldProblem(BaseModel):
    """A bad field and how to correct it."""

    field: str = Field(description="The path of the field, such as `target.headers.Host`.")
    message: str = Field(description="One sentence that says how to correct the field.")


class ItemProblem(BaseModel):
    """Why one item of a request was refused."""

    type: str = Field(description="The stable id of the kind of problem: `urn:timeball:problem:...`.")
    title: str = Field(description="The kind of problem, for people.")
    status: int = Field(description="The HTTP status.")
    detail: str = Field(description="One sentence that a person can act on.")
    quota: str | None = Field(default=None, description="The name of the quota that is used up; left out if none is.")
    errors: list[FieldProblem] = Field(
        default_factory=list, description=f"Every bad field; of more than {MAX_ERRORS} the first {MAX_ERRORS}."
    )


class ProblemDetails(ItemProblem):
    """A problem of RFC 9457."""

    instance: str = Field(description="The id of the request, also in `X-Request-Id`.")
