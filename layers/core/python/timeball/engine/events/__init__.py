"""Jobs that run on events: their patterns on the bus, events onto it, and what it matches."""
