"""Matroids: uniform, partition, laminar, graphic, transversal, linear over GF(2), and what is made from them."""
