"""Encoders of PaddleNLP: building them, loading and saving their weights."""
