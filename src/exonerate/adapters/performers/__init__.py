"""What each type of activity does to the world; the player decides when."""
