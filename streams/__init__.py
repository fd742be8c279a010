"""Stream processors: a flood of observations in, a few facts out; and the bridge that brings those facts to the actors."""
