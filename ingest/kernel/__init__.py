"""The kernel log's grammars, one per file: what precedes a message, and what the message says. Pure."""
