"""Processes of agents: started, watched, and ended with everything below them."""
