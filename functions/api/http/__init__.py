"""What every operation of the API starts from: requests and replies, problems, pages, ids."""
