"""What the workflow's scripts share, on four floors whose imports only go down.

1. scripts (``workflow_scripts/*.py``)
2. ``pretraining``, ``finetuning``, ``inference``, ``tables``
3. ``corpora``, ``tokenizers``, ``shards``, ``models``, ``tasks``, ``metrics``
4. ``errors``, ``files``, ``randomness``, ``progress``, ``languages``, ``script``
"""
