"""What the workflow's scripts share, on four floors whose imports only go down.

1. scripts (``workflow_scripts/*.py``)
2. ``pretraining``, ``finetuning``, ``inference``, ``tables``
3. ``corpora``, ``demo``, ``tokenizers``, ``shards``, ``models``, ``training``,
   ``tasks``, ``metrics``
4. ``errors``, ``script``, ``files``, ``progress``, ``randomness``, ``truncation``,
   ``languages``, ``config``, ``plan``
"""
