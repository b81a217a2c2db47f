"""What is believed and decided: prior, posterior, learning, decision, and the methods built from them."""
