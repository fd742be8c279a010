"""The fleet while it lives: the tree of what stands where, its picture, the journey of a fault, and the processes of `up`."""
