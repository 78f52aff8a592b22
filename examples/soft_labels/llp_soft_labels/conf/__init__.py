"""Options of the method, where every command of llp looks for them."""
