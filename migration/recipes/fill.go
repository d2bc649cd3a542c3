package recipes

import (
	"errors"
	"fmt"
	"regexp"

	"sigs.k8s.io/yaml"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// placeholder matches {{name}}, or {{name:text}} for a value that is a text regardless of the parameter's type.
var placeholder = regexp.MustCompile(`\{\{([^{}:]*)(:text)?\}\}`)

// Filled holds the gates and hooks of a recipe for one installation.
type Filled struct {
	Gates []api.HealthGate
	Hooks []api.Hook
}

// Fill replaces the parameters in the gates and hooks of a recipe, and leaves out those that are disabled.
func (r Recipe) Fill(values Values) (Filled, error) {
	filled := Filled{}
	var errs []error
	for i, s := range r.steps() {
		if wanted, known := values[s.when].(bool); s.when != "" && known && !wanted {
			continue
		}
		var err error
		if i < len(r.Gates) {
			filled.Gates, err = add(filled.Gates, s, values)
		} else {
			filled.Hooks, err = add(filled.Hooks, s, values)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s of recipe %s: %w", s.what, r.Name, err))
		}
	}
	return filled, errors.Join(errs...)
}

// add fills in a step and appends it to those of its kind.
func add[T any](all []T, s step, values Values) ([]T, error) {
	filled, err := fill(s.item, values)
	if err != nil {
		return all, err
	}
	text, err := yaml.Marshal(filled)
	if err != nil {
		return all, err
	}
	var item T
	if err := yaml.UnmarshalStrict(text, &item); err != nil {
		return all, err
	}
	return append(all, item), nil
}

// fill replaces the placeholders in all values of a document, but not in keys.
func fill(node any, values Values) (any, error) {
	switch node := node.(type) {
	case map[string]any:
		out := make(map[string]any, len(node))
		for key, value := range node {
			filled, err := fill(value, values)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
			out[key] = filled
		}
		return out, nil
	case []any:
		out := make([]any, len(node))
		for i, value := range node {
			filled, err := fill(value, values)
			if err != nil {
				return nil, err
			}
			out[i] = filled
		}
		return out, nil
	case string:
		return fillText(node, values)
	}
	return node, nil
}

// fillText replaces the placeholders of a text. If the whole text is one placeholder, the value keeps its type.
func fillText(text string, values Values) (any, error) {
	if whole := placeholder.FindStringSubmatch(text); whole != nil && whole[0] == text {
		value, known := values[whole[1]]
		switch {
		case !known:
			return nil, fmt.Errorf("no parameter is called %q", whole[1])
		case whole[2] == "":
			return value, nil
		}
	}
	var err error
	filled := placeholder.ReplaceAllStringFunc(text, func(found string) string {
		name := placeholder.FindStringSubmatch(found)[1]
		value, known := values[name]
		if !known {
			err = fmt.Errorf("no parameter is called %q", name)
		}
		return fmt.Sprint(value)
	})
	return filled, err
}
