"""From events to a report, and from a report to text or JSON. Pure: one writer a file."""
