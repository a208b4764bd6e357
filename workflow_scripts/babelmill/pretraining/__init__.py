"""Pretraining: shards in, weights out."""
