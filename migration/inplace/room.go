package inplace

// Fits reports whether data of a number of bytes fit into a volume of a size, of which a percentage stays free.
func Fits(used, size, margin int64) bool {
	const whole = 100
	return used*whole <= size*(whole-margin)
}
