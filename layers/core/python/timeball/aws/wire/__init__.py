"""A thin client of AWS for the hot path: signed JSON over kept connections, with the methods of boto3's clients."""
