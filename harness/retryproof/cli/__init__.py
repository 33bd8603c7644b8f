"""The command line: one command a file, each parses, calls, renders."""
