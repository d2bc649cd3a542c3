// Package tolerant decodes objects of which a part does not fit its type: what an API server has stored, under an older
// resource definition or in a field that no schema describes.
//
// One object that does not decode fails the whole list that it is in, and nothing of that kind is seen any more. Here
// the fields that do not fit are left out and named, and whoever reads the object decides about it.
package tolerant

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"
)

// Fault is a field whose value does not fit its type, and was left out.
type Fault struct {
	// Field is its path: spec.schedule.windows[0].duration. Empty: it is the whole value.
	Field string
	// Value is what it holds, as JSON, of which the beginning counts.
	Value string
	// Why says what was wrong with it.
	Why string
}

// String says what was wrong with which field.
func (f Fault) String() string {
	return fmt.Sprintf("%s holds %s, which does not fit it (%s)", cmp.Or(f.Field, "it"), f.Value, f.Why)
}

// mostFaults bounds how many fields are left out one by one: each costs about as much as decoding the whole. Of an object
// with more of them, the whole parts of it that have faults are left out.
const mostFaults = 4

// mostAtAll bounds how many parts are left out.
const mostAtAll = 16

// longest bounds what is kept of a value and of a reason, in bytes.
const longest = 128

// Decode decodes JSON as clients of Kubernetes do. Fields that do not fit are left out and returned. An error means that
// it is no JSON, or does not decode whatever is left out.
func Decode[T any](data []byte, into *T) ([]Fault, error) {
	err := json.Unmarshal(data, into)
	if err == nil {
		return nil, nil
	}
	var tree any
	if json.Unmarshal(data, &tree) != nil {
		return nil, err
	}
	var faults []Fault
	for len(faults) < mostAtAll {
		*into = *new(T)
		if err = decode(tree, into); err == nil {
			return faults, nil
		}
		path, why := find[T](tree, err)
		if len(faults) >= mostFaults && len(path) > 1 {
			path = path[:1]
		}
		faults = append(faults, Fault{Field: text(path), Value: shown(at(tree, path)), Why: cut(why.Error())})
		if len(path) == 0 {
			return faults, err
		}
		leaveOut(tree, path)
	}
	return faults, err
}

func decode(tree, into any) error {
	data, err := json.Marshal(tree)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// find returns where the first value is that does not fit, and why. A value that fails alone, without all beside it, is on
// the way there.
func find[T any](tree any, why error) (path []any, _ error) {
	around := func(value any) any { return value }
	for here := tree; ; {
		within := false
		for _, step := range steps(here) {
			child, outer := at(here, []any{step}), around
			only := func(value any) any { return outer(single(step, value)) }
			err := decode(only(child), new(T))
			if err == nil {
				continue
			}
			path, why, around, here, within = append(path, step), err, only, child, true
			break
		}
		if !within {
			return path, why
		}
	}
}

// steps are the names and places of what is in a value, in a stable order.
func steps(of any) []any {
	var all []any
	switch value := of.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			all = append(all, name)
		}
	case []any:
		for i := range value {
			all = append(all, i)
		}
	}
	return all
}

// single is a map or a list that holds one value only.
func single(step, value any) any {
	if name, isName := step.(string); isName {
		return map[string]any{name: value}
	}
	return []any{value}
}

// at is the value at a path.
func at(tree any, path []any) any {
	for _, step := range path {
		switch value := tree.(type) {
		case map[string]any:
			name, _ := step.(string)
			tree = value[name]
		case []any:
			i, _ := step.(int)
			tree = value[i]
		}
	}
	return tree
}

// leaveOut takes the value at a path away. Of a list the others keep their places.
func leaveOut(tree any, path []any) {
	last := path[len(path)-1]
	switch value := at(tree, path[:len(path)-1]).(type) {
	case map[string]any:
		name, _ := last.(string)
		delete(value, name)
	case []any:
		i, _ := last.(int)
		value[i] = nil
	}
}

// text is a path as people write it.
func text(path []any) string {
	var b strings.Builder
	for _, step := range path {
		switch step := step.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", step)
		case string:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(cut(step))
		}
	}
	return b.String()
}

// shown is the beginning of a value, in letters that every terminal shows as they are.
func shown(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return "a value"
	}
	return cut(string(data))
}

func cut(s string) string {
	quoted := strconv.QuoteToASCII(s)
	plain := strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
	if len(plain) <= longest {
		return plain
	}
	return plain[:longest] + "..."
}

// faulty is an object, or a list of some, of which something may have been left out.
type faulty interface{ Faults() []Fault }

// Check is an error where something was left out of an object, or of one in a list.
func Check(object any) error {
	of, is := object.(faulty)
	if !is || len(of.Faults()) == 0 {
		return nil
	}
	return &Error{of.Faults()}
}

// Error is that something was left out of an object.
type Error struct{ Faults []Fault }

// Error implements error.
func (e *Error) Error() string {
	said := make([]string, 0, len(e.Faults))
	for _, fault := range e.Faults {
		said = append(said, fault.String())
	}
	return strings.Join(said, "; ")
}
