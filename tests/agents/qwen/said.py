"""Which action of a person caused a line that went to the agent."""

from tests.agents.acp_said import amended, command_of, spec_in

__all__ = ["amended", "command_of", "spec_in"]
