"""Times as tests write them: text with or without an offset, a date alone, or a datetime; and durations."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from timeball.domain.time.instants import EARLIEST, LATEST, SECOND_MS
from timeball.domain.time.zones import load_zone
from timeball.rehearsal.errors import RehearsalError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def zone_of(name: str) -> ZoneInfo:
    """Return the zone of an IANA name; raises RehearsalError if there is none."""
    try:
        load_zone(name)
        return ZoneInfo(name)
    except (ValueError, OSError):
        raise RehearsalError(f"{name!r} is no time zone: give an IANA name, such as Europe/Berlin.") from None


def instant_of(when: str | datetime, zone: str) -> int:
    """Return the instant (ms) that a time means; one without an offset is of a zone. Raises RehearsalError."""
    moment = when
    if isinstance(moment, str):
        try:
            moment = datetime.fromisoformat(moment.strip())
        except ValueError:
            raise RehearsalError(
                f"{when!r} is no time: write it as 2027-03-28 06:00, 2027-03-28 or 2027-03-28T04:00Z."
            ) from None
    if moment.tzinfo is None:
        local = moment.replace(tzinfo=zone_of(zone))
        if local.astimezone(UTC).astimezone(local.tzinfo).replace(tzinfo=None) != moment:
            raise RehearsalError(f"Clocks skip {when} in {zone}: give another time, or one with an offset.")
        moment = local
    at = (moment - _EPOCH) // timedelta(milliseconds=1)
    if not EARLIEST <= at < LATEST:
        raise RehearsalError(f"{when} is too far away: give a time between the years 1970 and 2399.")
    return at


def moment_of(at: int) -> datetime:
    """Return an instant (ms) as an aware datetime in UTC."""
    return _EPOCH + timedelta(milliseconds=at)


def local_text(moment: datetime, zone: str) -> str:
    """Return an instant as a clock in a zone shows it: `2027-03-28 03:00`, with seconds if there are any."""
    local = moment.astimezone(zone_of(zone))
    has_seconds = local.second or local.microsecond
    text = local.replace(tzinfo=None).isoformat(" ", "milliseconds" if local.microsecond else "seconds")
    return text if has_seconds else text[:16]


def milliseconds_of(duration: timedelta) -> int:
    """Return a duration in ms; raises RehearsalError for a negative one."""
    if duration < timedelta():
        raise RehearsalError("Time does not go back in a rehearsal: give a duration that is not negative.")
    return int(duration / timedelta(milliseconds=1))


def seconds_in_ms(seconds: float) -> int:
    """Return seconds in ms; raises RehearsalError for negative ones."""
    if seconds < 0:
        raise RehearsalError(f"Seconds are not negative: {seconds:g}.")
    return round(seconds * SECOND_MS)
