"""Which configuration of a model serves best: pure, from what was measured of some of them."""
