"""The vocabulary: what a session says, and what is said to it. Room 1: imports nothing of ours."""
