"""Exported models: a Paddle inference program, its parameters, and what goes with it."""
