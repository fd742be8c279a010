"""One file per source. A collector reads; it draws no conclusions."""
