"""What is kept before an act wipes it."""
