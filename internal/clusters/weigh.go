package clusters

import (
	"encoding/json"
	"reflect"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What an answer in JSON takes in memory, once it is read, is not what it has on the way: "{}"
// in a list of pods is two bytes there, and a thousand here.
const (
	// weightOfByte is what a byte takes as it was read, while its buffer grows, and as it was
	// decoded.
	weightOfByte = 3
	// weightOfItem is of an object of a list, or one by itself, that is empty.
	weightOfItem = 2 << 10
	// weightOfElement is of an element of any other list, when it is an object that is empty: a
	// container, a claim template.
	weightOfElement = 640
	// weightOfMember is of a member of an object, beside its value: an entry of a map of two
	// strings, in tables of which less than half is used, as after they were split.
	weightOfMember = 80
	// weightOfScalar is of one that is none.
	weightOfScalar = 32
	// weightOfIndexed is of a value that an index finds an object by, twice, beside its text: in its
	// namespace, and in all.
	weightOfIndexed = 800
	// deepest is how deep values may be nested, as in the decoder (encoding/json, maxNestingDepth).
	deepest = 10000
)

// scanner reads values of JSON, one after the other, as they come: what they weigh, and where
// each ends.
type scanner struct {
	// open are the brackets that are open, size the bytes of the value that is read, weight
	// what it weighs.
	open         []byte
	size, weight int64
	// ended is what the values weigh that have ended.
	ended int64
	// first is true where an element of a list may begin.
	first           bool
	quoted, escaped bool
}

// read reads on. It says whether no value was larger than the limit; 0: there is none.
func (s *scanner) read(data []byte, limit int64) bool {
	for _, c := range data {
		s.size++
		s.weight += weightOfByte
		s.scan(c)
		if limit > 0 && s.size > limit || len(s.open) > deepest {
			return false
		}
	}
	return true
}

func (s *scanner) scan(c byte) {
	switch {
	case s.escaped:
		s.escaped = false
	case s.quoted:
		s.escaped, s.quoted = c == '\\', c != '"'
	case c == '"':
		s.quoted = true
		s.begin(weightOfScalar)
	case c == '{' || c == '[':
		s.begin(weightOfElement)
		s.open, s.first = append(s.open, c), c == '['
	case c == '}' || c == ']':
		s.close()
	case c == ',':
		s.first = len(s.open) > 0 && s.open[len(s.open)-1] == '['
	case c == 'n':
		s.begin(weightOfElement) // null, which an empty object is made of
	case c == ':':
		s.weight += weightOfMember
	case c > ' ':
		s.begin(weightOfScalar)
	}
}

// begin is for a value that begins; it counts as an element of a list, or when it stands alone.
func (s *scanner) begin(weight int64) {
	const inItems = 2
	switch {
	case len(s.open) == 0:
		s.weight += weightOfItem
	case s.first && len(s.open) == inItems && weight == weightOfElement:
		s.weight += weightOfItem
	case s.first:
		s.weight += weight
	}
	s.first = false
}

func (s *scanner) close() {
	s.first = false
	if len(s.open) > 0 {
		s.open = s.open[:len(s.open)-1]
	}
	if len(s.open) == 0 {
		s.ended += s.weight
		s.size, s.weight = 0, 0
	}
}

// weigh is what an object weighs that is kept.
func weigh(object any) (int64, error) {
	data, err := json.Marshal(object)
	if err != nil {
		return 0, err
	}
	var s scanner
	s.read(data, 0)
	return s.ended, nil
}

// weighIndexed is what the indexes take that a view finds an object by.
func weighIndexed(object client.Object) (weight int64) {
	for _, index := range Indexes() {
		if reflect.TypeOf(index.Object) != reflect.TypeOf(object) {
			continue
		}
		for _, value := range index.Values(object) {
			weight += weightOfIndexed + 2*int64(len(value)+len(object.GetNamespace()))
		}
	}
	return weight
}
