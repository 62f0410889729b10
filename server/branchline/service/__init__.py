"""The only state that changes: open sessions, who looks at them, and what happens in them."""
