"""`python -m cli` is the crisis command."""

from cli.main import main

main()
