"""ACP, the Agent Client Protocol (version 1): a dialect that many agents speak over stdio."""
