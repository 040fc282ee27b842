"""The API function: answer one HTTPS request of a client, or of a worker."""

from timeball.api.app import handler

__all__ = ["handler"]
