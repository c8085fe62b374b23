"""What a recording says about its collectives: names of any spelling, what kernels are called, who launched them."""
