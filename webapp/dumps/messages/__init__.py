"""What messages and HTTP bodies of providers say, as pieces with their places, and the turns made of them."""
