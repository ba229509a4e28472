"""How fast tensift is, what memory it takes, and what it finds in data with a known answer."""
