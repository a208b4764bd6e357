"""Tokenized documents, and the HDF5 shards of pretraining examples made from them."""
