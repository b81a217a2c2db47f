"""quorate inside the tools people have: one file or folder per neighbour, each needing an extra of its own."""
