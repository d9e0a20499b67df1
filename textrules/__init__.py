"""Text as a reader sees it, and rules as data: the ground that SHIELD and the safety filter stand on."""
