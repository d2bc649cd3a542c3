// Package tolerant decodes objects in which some values do not fit their type. An API server may have stored them under an
// older resource definition, or in a field without a schema.
//
// One object that fails to decode fails the whole list, and hides all objects of its kind. This package leaves out the
// fields that do not fit and lists them, and the reader of the object decides what to do.
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

// Fault is a field that was left out because its value does not fit its type.
type Fault struct {
	// Field is the path, such as spec.schedule.windows[0].duration. Empty means the whole value.
	Field string
	// Value is the start of the value, as JSON.
	Value string
	// Why is the decoding error.
	Why string
}

// String describes the fault.
func (f Fault) String() string {
	return fmt.Sprintf("%s holds %s, which does not fit it (%s)", cmp.Or(f.Field, "it"), f.Value, f.Why)
}

// mostFaults limits the number of fields that are left out individually, because each costs about as much as decoding the
// object. After that, whole top-level fields with faults are left out.
const mostFaults = 4

// mostAtAll limits the number of faults.
const mostAtAll = 16

// longest limits the text of a value and of a reason, in bytes.
const longest = 128

// Decode decodes JSON like the clients of Kubernetes. It leaves out the fields that do not fit, and returns them. It returns
// an error if the data is not JSON, or does not decode without these fields either.
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

// find returns the path of the first value that does not fit, and the error. It tests each value alone, without its
// siblings, and descends into the first one that fails.
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

// steps returns the keys or indexes of a value, in a stable order.
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

// single returns a map or list that contains only one value.
func single(step, value any) any {
	if name, isName := step.(string); isName {
		return map[string]any{name: value}
	}
	return []any{value}
}

// at returns the value at a path.
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

// leaveOut removes the value at a path. In a list it becomes null, so that the others keep their indexes.
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

// text returns a path in the usual notation.
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

// shown returns the start of a value, in printable ASCII.
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

// faulty is an object or list of which fields may have been left out.
type faulty interface{ Faults() []Fault }

// Check returns an error if fields of an object, or of an item of a list, were left out.
func Check(object any) error {
	of, is := object.(faulty)
	if !is || len(of.Faults()) == 0 {
		return nil
	}
	return &Error{of.Faults()}
}

// Error lists the fields of an object that were left out.
type Error struct{ Faults []Fault }

// Error implements error.
func (e *Error) Error() string {
	said := make([]string, 0, len(e.Faults))
	for _, fault := range e.Faults {
		said = append(said, fault.String())
	}
	return strings.Join(said, "; ")
}
