"""The retry contract: a pure model, its faults, its cases, and artifacts about them.

Nothing here reads a file, a clock or a random number.
"""
