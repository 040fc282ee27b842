"""Jobs that run on events: their patterns on the bus, events that are published, and events that are received."""
