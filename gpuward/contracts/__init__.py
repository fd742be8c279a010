"""The words that cross a boundary: pydantic models and four tables. No I/O, no clock, no environment."""
