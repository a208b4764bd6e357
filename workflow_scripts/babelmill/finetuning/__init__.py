"""Fine-tuning an encoder on a task; the best step is chosen on dev alone."""
