// Package weigh estimates the memory of an API server's answers.
package weigh

import (
	"encoding/json"
)

// The memory of a decoded JSON answer differs from its size: "{}" in a list of pods has two bytes, and takes a thousand
// bytes of memory.
const (
	// Byte is the memory of a byte of input: in the growing read buffer, and decoded.
	Byte = 3
	// Item is the memory of an empty object in a list, or of a single empty object.
	Item = 2 << 10
	// Element is the memory of an empty object in any other list, for example a container or a claim template.
	Element = 640
	// Member is the memory of an object's member without its value: an entry of a map of two strings whose tables are less
	// than half full, as after a split.
	Member = 80
	// Scalar is the memory of a value that is no object or list.
	Scalar = 32
	// deepest is the maximum nesting depth, as in the decoder (encoding/json, maxNestingDepth).
	deepest = 10000
)

// Scanner reads a stream of JSON values, and computes the weight and the end of each.
type Scanner struct {
	// Weight is the weight of the current value, and Ended is the total weight of the ended values.
	Weight, Ended int64
	// open holds the open brackets. size is the size of the current value in bytes.
	open []byte
	size int64
	// first is true where an element of a list may begin.
	first           bool
	quoted, escaped bool
}

// Read reads data. It reports whether no value exceeds the limit. 0 means no limit.
func (s *Scanner) Read(data []byte, limit int64) bool {
	for _, c := range data {
		s.size++
		s.Weight += Byte
		s.scan(c)
		if limit > 0 && s.size > limit || len(s.open) > deepest {
			return false
		}
	}
	return true
}

func (s *Scanner) scan(c byte) {
	switch {
	case s.escaped:
		s.escaped = false
	case s.quoted:
		s.escaped, s.quoted = c == '\\', c != '"'
	case c == '"':
		s.quoted = true
		s.begin(Scalar)
	case c == '{' || c == '[':
		s.begin(Element)
		s.open, s.first = append(s.open, c), c == '['
	case c == '}' || c == ']':
		s.close()
	case c == ',':
		s.first = len(s.open) > 0 && s.open[len(s.open)-1] == '['
	case c == 'n':
		s.begin(Element) // null, which decodes to an empty object
	case c == ':':
		s.Weight += Member
	case c > ' ':
		s.begin(Scalar)
	}
}

// begin adds the weight of a new value, if it is an element of a list or stands alone.
func (s *Scanner) begin(weight int64) {
	const inItems = 2
	switch {
	case len(s.open) == 0:
		s.Weight += Item
	case s.first && len(s.open) == inItems && weight == Element:
		s.Weight += Item
	case s.first:
		s.Weight += weight
	}
	s.first = false
}

func (s *Scanner) close() {
	s.first = false
	if len(s.open) > 0 {
		s.open = s.open[:len(s.open)-1]
	}
	if len(s.open) == 0 {
		s.Ended += s.Weight
		s.size, s.Weight = 0, 0
	}
}

// Object returns the weight of a kept object.
func Object(object any) (int64, error) {
	data, err := json.Marshal(object)
	if err != nil {
		return 0, err
	}
	var s Scanner
	s.Read(data, 0)
	return s.Ended, nil
}
