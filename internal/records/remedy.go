package records

import "strings"

// wayOut stands between what a condition's message says and what a person can do.
const wayOut = ". What to do: "

// WithRemedy returns a message with what a person can do; empty: nothing.
func WithRemedy(message, remedy string) string {
	if remedy == "" {
		return message
	}
	return message + wayOut + remedy
}

// CutRemedy returns both parts of such a message.
func CutRemedy(message string) (what, remedy string) {
	what, remedy, _ = strings.Cut(message, wayOut)
	return what, remedy
}
