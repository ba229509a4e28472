"""Measure speed, memory, and what tensift finds in data with a known answer."""
