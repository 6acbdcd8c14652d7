"""IO towards agents: processes, the pump of each session, and all sessions together."""
