// Package weigh estimates what answers of an API server take in memory.
package weigh

import (
	"encoding/json"
)

// What an answer in JSON takes in memory, once it is read, is not what it has on the way: "{}"
// in a list of pods is two bytes there, and a thousand here.
const (
	// Byte is what a byte takes as it was read, while its buffer grows, and as it was
	// decoded.
	Byte = 3
	// Item is of an object of a list, or one by itself, that is empty.
	Item = 2 << 10
	// Element is of an element of any other list, when it is an object that is empty: a
	// container, a claim template.
	Element = 640
	// Member is of a member of an object, beside its value: an entry of a map of two
	// strings, in tables of which less than half is used, as after they were split.
	Member = 80
	// Scalar is of one that is none.
	Scalar = 32
	// deepest is how deep values may be nested, as in the decoder (encoding/json, maxNestingDepth).
	deepest = 10000
)

// Scanner reads values of JSON, one after the other, as they come: what they weigh, and where
// each ends.
type Scanner struct {
	// Weight is what the value weighs that is read, and Ended what those weigh that have ended.
	Weight, Ended int64
	// open are the brackets that are open, size the bytes of the value that is read.
	open []byte
	size int64
	// first is true where an element of a list may begin.
	first           bool
	quoted, escaped bool
}

// Read reads on. It says whether no value was larger than the limit; 0: there is none.
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
		s.begin(Element) // null, which an empty object is made of
	case c == ':':
		s.Weight += Member
	case c > ' ':
		s.begin(Scalar)
	}
}

// begin is for a value that begins; it counts as an element of a list, or when it stands alone.
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

// Object is what an object weighs that is kept.
func Object(object any) (int64, error) {
	data, err := json.Marshal(object)
	if err != nil {
		return 0, err
	}
	var s Scanner
	s.Read(data, 0)
	return s.Ended, nil
}
