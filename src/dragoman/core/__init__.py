"""Session semantics, pure: steps become events, modes decide, events fold to a state."""
