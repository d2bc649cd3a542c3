package recipes

import (
	"errors"
	"fmt"
	"regexp"

	"sigs.k8s.io/yaml"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// placeholder is {{name}}, or {{name:text}} for a value that stays a text whatever the parameter's type is.
var placeholder = regexp.MustCompile(`\{\{([^{}:]*)(:text)?\}\}`)

// Fill gives the gates of a recipe the values of its parameters, and leaves out those that are not wanted.
func (r Recipe) Fill(values Values) ([]api.HealthGate, error) {
	var gates []api.HealthGate
	var errs []error
	for i, g := range r.Gates {
		if wanted, known := values[g.When].(bool); g.When != "" && known && !wanted {
			continue
		}
		gate, err := g.fill(values)
		if err != nil {
			errs = append(errs, fmt.Errorf("gate %d of recipe %s: %w", i+1, r.Name, err))
			continue
		}
		gates = append(gates, gate)
	}
	return gates, errors.Join(errs...)
}

func (g Gate) fill(values Values) (gate api.HealthGate, err error) {
	filled, err := fill(g.Gate, values)
	if err != nil {
		return gate, err
	}
	text, err := yaml.Marshal(filled)
	if err != nil {
		return gate, err
	}
	return gate, yaml.UnmarshalStrict(text, &gate)
}

// fill replaces the placeholders in all values of a document. Keys have none.
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

// fillText replaces the placeholders of a text; one that is all of it keeps the type of its value.
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
