"""What pretraining and fine-tuning share: optimizer, schedules, checkpoints."""
