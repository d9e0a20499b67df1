"""Training of the learned stages: never needed to run the service."""
