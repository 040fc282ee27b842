"""The parts that every operation of the API uses: requests and replies, problems, pages, ids."""
