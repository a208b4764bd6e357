"""Exported models: a Paddle inference program and what goes with it."""
