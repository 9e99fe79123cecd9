"""What a tuple becomes: one file per operator, each with the fast logic over trains and the naive `reference`."""
