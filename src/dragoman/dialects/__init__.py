"""What the dialects of several agents have in common."""
