"""What people and machines read of a run: a page, a table, a summary for a pull request, JUnit XML."""
