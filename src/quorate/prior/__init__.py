"""Parameters and a prediction -> alpha, the Dirichlet concentration of the voters' beliefs before any vote."""
