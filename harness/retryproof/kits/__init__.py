"""The adapter kits: which there are, what they need, and the project folders that they begin."""
