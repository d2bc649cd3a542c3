package terminal

// Remedy is how every screen says what a person can do.
func Remedy(text string) string { return "what to do: " + text }
