"""The parts of a function when it starts: settings, clock, ports."""
