"""A session's directory: what changes in it, live, and what a turn has changed, as a diff."""
