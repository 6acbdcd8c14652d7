"""The mock agent: a process that plays whatever its prompt names."""
