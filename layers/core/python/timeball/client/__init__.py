"""The client of the API, for programs: sync and async, typed."""
