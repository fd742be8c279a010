"""People are told."""
