"""What the client raises, as an exit status and one sentence."""

from timeball.cli.status import CommandError, Status
from timeball.client.errors import ApiError, ConfigurationError, TimeballError

_BY_HTTP = {
    401: Status.NOT_ALLOWED,
    403: Status.NOT_ALLOWED,
    404: Status.NOT_FOUND,
    409: Status.CONFLICT,
    412: Status.CONFLICT,
    422: Status.CONFLICT,
    429: Status.QUOTA,
}


def explained(error: Exception) -> CommandError | None:
    """Return the error of a command for an error of the client, or of a file; None for a fault of the program."""
    if isinstance(error, ApiError):
        return CommandError(_sentence(error), _status(error))
    if isinstance(error, ConfigurationError):
        return CommandError(str(error))
    if isinstance(error, TimeballError):
        return CommandError(str(error), Status.BAD)
    if isinstance(error, OSError) and error.filename:
        return CommandError(f"{error.filename}: {error.strerror}.")
    return None


def _status(error: ApiError) -> Status:
    if error.status == 0 or error.status >= 500:
        return Status.UNAVAILABLE
    return Status.QUOTA if error.quota else _BY_HTTP.get(error.status, Status.USAGE)


def _sentence(error: ApiError) -> str:
    """Return one sentence with each bad field and the id of the request."""
    text = "; ".join(f"{bad.field}: {bad.message}" for bad in error.errors) or error.detail
    return f"{text.rstrip('.')} (request {error.request_id})." if error.request_id else text
