package terminal

// Remedy returns a remedy in the form that every screen uses.
func Remedy(text string) string { return "what to do: " + text }
