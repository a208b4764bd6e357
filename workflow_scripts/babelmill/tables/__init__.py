"""From scores to tables: collect, aggregate over seeds, render."""
