"""The surfaces: HTTP and SSE, behind one door."""
