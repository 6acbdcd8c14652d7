"""What a session needs before it starts: agents, their models, skills, repositories."""
