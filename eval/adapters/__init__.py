"""Other people's formats and harnesses, so that their standards meet this service, and its suites meet any model."""
