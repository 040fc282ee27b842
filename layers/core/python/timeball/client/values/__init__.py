"""The values that a program writes jobs with; each becomes the API's JSON."""
