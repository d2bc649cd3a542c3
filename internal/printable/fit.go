package printable

import (
	"encoding/json"
	"unicode/utf8"
)

// Cut marks text that was truncated.
const Cut = "…"

// Fit truncates text to a maximum of bytes of encoded JSON, in which some characters take six bytes.
func Fit(text string, most int) string {
	if Encoded(text) <= most {
		return text
	}
	end, left := 0, most-len(Cut)
	for {
		_, width := utf8.DecodeRuneInString(text[end:])
		if left -= Encoded(text[end : end+width]); left < 0 {
			return text[:end] + Cut
		}
		end += width
	}
}

// Encoded returns the size of a text in JSON, in bytes and without its quotes.
func Encoded(text string) int {
	encoded, _ := json.Marshal(text) // never fails for a string
	return len(encoded) - len(`""`)
}
