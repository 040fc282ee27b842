"""The real API and engine in memory under a virtual clock, for tests of one's own schedules."""
