package recipes

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ParameterType is the type of a parameter's values.
type ParameterType string

// The types.
const (
	String  ParameterType = "string"
	Integer ParameterType = "integer"
	Boolean ParameterType = "boolean"
)

// Parameter is a value that differs between installations of a system.
type Parameter struct {
	// Name is its name in placeholders and on the command line.
	Name string        `json:"name"`
	Type ParameterType `json:"type"`
	// Says describes it.
	Says string `json:"says"`
	// Default is its value as on the command line, in which {{statefulset}} is replaced by the StatefulSet's
	// name. A parameter without a default is required.
	Default *string `json:"default,omitempty"`
	// Choices are the allowed values; empty means any.
	Choices []string `json:"choices,omitempty"`
	// Example is an example value for a required parameter.
	Example string `json:"example,omitempty"`
}

// Values maps the names of parameters to their values, each a string, an int64 or a bool.
type Values map[string]any

// statefulSet is a placeholder of every recipe.
const statefulSet = "statefulset"

// parse parses a value of the parameter's type.
func (p Parameter) parse(text string) (any, error) {
	if len(p.Choices) > 0 && !slices.Contains(p.Choices, text) {
		return nil, fmt.Errorf("parameter %s must be one of %s, not %q", p.Name, strings.Join(p.Choices, ", "), text)
	}
	switch p.Type {
	case Integer:
		value, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("parameter %s must be a whole number, not %q", p.Name, text)
		}
		return value, nil
	case Boolean:
		value, err := strconv.ParseBool(text)
		if err != nil {
			return nil, fmt.Errorf("parameter %s must be true or false, not %q", p.Name, text)
		}
		return value, nil
	case String:
		return text, nil
	}
	return nil, fmt.Errorf("parameter %s has no type that is known: %q", p.Name, p.Type)
}

// Values returns the parameters of a recipe for one StatefulSet: the given values, and the defaults of the
// others.
func (r Recipe) Values(set string, given map[string]string) (Values, error) {
	values := Values{statefulSet: set}
	var errs []error
	for _, p := range r.Parameters {
		text, found := given[p.Name]
		if !found && p.Default == nil {
			errs = append(errs, fmt.Errorf("parameter %s must be given, such as %s=%s: %s", p.Name, p.Name, p.Example, p.Says))
			continue
		}
		if !found {
			text = strings.ReplaceAll(*p.Default, "{{"+statefulSet+"}}", set)
		}
		value, err := p.parse(text)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		values[p.Name] = value
	}
	for name := range given {
		if !slices.ContainsFunc(r.Parameters, func(p Parameter) bool { return p.Name == name }) {
			errs = append(errs, fmt.Errorf("recipe %s has no parameter %q, only: %s", r.Name, name, strings.Join(r.parameterNames(), ", ")))
		}
	}
	return values, errors.Join(errs...)
}

func (r Recipe) parameterNames() []string {
	names := make([]string, 0, len(r.Parameters))
	for _, p := range r.Parameters {
		names = append(names, p.Name)
	}
	return names
}
