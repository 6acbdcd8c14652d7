"""Framing and decoding, sans-IO: bytes in, messages out. Room 2: imports nothing but schema."""
