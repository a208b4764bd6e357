"""Task data: readers of the official layouts and the one normalized form."""
