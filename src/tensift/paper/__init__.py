"""The experiments of the paper: every table and figure, beside the numbers it prints."""
