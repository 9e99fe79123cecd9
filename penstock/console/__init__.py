"""What a person sees: the command line, live views, reports."""
