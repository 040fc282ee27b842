"""Operations on single runs: send, end, retry."""
