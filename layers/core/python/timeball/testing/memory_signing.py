"""The signing secrets in memory."""

from timeball.domain.attempts.signing_secrets import SigningSecrets, rotated


class MemorySigning:
    """The signing secrets."""

    def __init__(self) -> None:
        self.stored: SigningSecrets | None = None

    def secrets(self, fresh: str) -> SigningSecrets:
        """Return the stored secrets."""
        self.stored = self.stored or SigningSecrets(fresh)
        return self.stored

    def rotate(self, fresh: str, now: int) -> SigningSecrets:
        """Make another secret the newest."""
        before = self.secrets(fresh)
        self.stored = before if before.newest == fresh else rotated(before, fresh, now) or before
        return self.stored
