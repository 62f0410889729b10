"""Results of the protocol drawn as text for a terminal. Nothing is printed here."""
