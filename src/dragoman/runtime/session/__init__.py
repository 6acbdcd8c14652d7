"""One session: the task that owns its agent, its turn, its requests and its messages."""
