"""What a function is made of when it starts: settings, clock, ports."""
