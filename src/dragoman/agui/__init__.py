"""AG-UI 1.0: the universal stream in the words that its front ends read."""
