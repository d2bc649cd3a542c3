package records

import "strings"

// wayOut separates a condition's message from the remedy.
const wayOut = ". What to do: "

// WithRemedy returns a message with its remedy, which may be empty.
func WithRemedy(message, remedy string) string {
	if remedy == "" {
		return message
	}
	return message + wayOut + remedy
}

// CutRemedy returns both parts of a message of WithRemedy.
func CutRemedy(message string) (what, remedy string) {
	what, remedy, _ = strings.Cut(message, wayOut)
	return what, remedy
}
