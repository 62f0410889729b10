"""What is known of all session files at once: a list of them, and an index of their words."""
