"""The decisions of preconditions of a PUT: whether the resource exists, the headers, the status of the answer."""

PRECONDITIONS: dict[str, tuple[bool, dict[str, str], int]] = {
    "If-None-Match on none": (False, {"If_None_Match": "*"}, 201),
    "If-None-Match on one": (True, {"If_None_Match": "*"}, 412),
    "If-Match on none": (False, {"If_Match": '"1"'}, 412),
    "If-Match: * on none": (False, {"If_Match": "*"}, 412),
    "If-Match: * on one": (True, {"If_Match": "*"}, 200),
    "the right If-Match": (True, {"If_Match": '"1"'}, 200),
    "a stale If-Match": (True, {"If_Match": '"2"'}, 412),
    "a foreign If-None-Match": (True, {"If_None_Match": '"1"'}, 400),
}
