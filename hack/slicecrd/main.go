// Command slicecrd completes the output of controller-gen for our APIs: it makes the API server reject values that the
// types cannot decode. For slices it adds the rules and defaults of amendments.yaml to the parts of the schema that are
// types of Kubernetes, where our own types cannot carry a marker. It removes rules that apps/v1 does not have, and the
// descriptions, which alone would be three quarters of the file.
package main

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

//go:embed amendments.yaml
var amendmentsFile []byte

// amendments holds the changes of a schema.
type amendments struct {
	// Foreign lists the paths of types that are not ours.
	Foreign []string `json:"foreign"`
	// Amend is applied in this order. A later amendment may add to an earlier one.
	Amend []amendment `json:"amend"`
}

// amendment is one addition or replacement.
type amendment struct {
	// At lists the places: names of properties separated by dots, with "[]" after a list and "{}" after a map for its
	// elements.
	At []string `json:"at"`
	// Add is merged into the schema there.
	Add apiextensionsv1.JSONSchemaProps `json:"add"`
	// Replace replaces the schema there.
	Replace *apiextensionsv1.JSONSchemaProps `json:"replace"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "slicecrd:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("usage: slicecrd FILE... (the resource definitions that controller-gen wrote)")
	}
	for _, file := range args {
		before, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		after, err := finish(before, amendmentsFile)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if err := os.WriteFile(file, after, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// finish returns the resource definition with the amendments.
func finish(definition, additions []byte) ([]byte, error) {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(definition, &crd); err != nil {
		return nil, err
	}
	var wanted amendments
	if err := yaml.UnmarshalStrict(additions, &wanted); err != nil {
		return nil, fmt.Errorf("amendments.yaml: %w", err)
	}
	for _, version := range crd.Spec.Versions {
		root := version.Schema.OpenAPIV3Schema
		each(root, unwrap)
		if crd.Spec.Group != api.GroupVersion.Group { // the types of that group are all ours, and carry their rules as markers
			if err := wanted.apply(root); err != nil {
				return nil, fmt.Errorf("amendments.yaml: %w", err)
			}
		}
		if of, known := kinds[crd.Spec.Names.Kind]; known {
			fit(root, of)
		}
	}
	return render(&crd)
}

// each calls do with a schema and all schemas below it.
func each(schema *apiextensionsv1.JSONSchemaProps, do func(*apiextensionsv1.JSONSchemaProps)) {
	do(schema)
	for name, child := range schema.Properties {
		each(&child, do)
		schema.Properties[name] = child
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		each(schema.Items.Schema, do)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		each(schema.AdditionalProperties.Schema, do)
	}
}

// unwrap joins the lines of a description, because kubectl explain wraps them at the width of the terminal. It keeps
// paragraphs and lists.
func unwrap(schema *apiextensionsv1.JSONSchemaProps) {
	schema.Description = broken.ReplaceAllString(schema.Description, "$1 $2")
}

// broken matches a line break within a paragraph: the next line is neither empty nor a list item.
var broken = regexp.MustCompile(`([^\n])\n([^\s*-])`)

func (a amendments) apply(root *apiextensionsv1.JSONSchemaProps) error {
	for _, path := range a.Foreign {
		err := at(root, path, func(schema *apiextensionsv1.JSONSchemaProps) error {
			description := schema.Description
			each(schema, func(below *apiextensionsv1.JSONSchemaProps) { below.Description = "" })
			schema.Description = description
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, one := range a.Amend {
		for _, path := range one.At {
			err := at(root, path, func(schema *apiextensionsv1.JSONSchemaProps) error {
				if one.Replace != nil {
					*schema = *one.Replace.DeepCopy()
				}
				return overlay(schema, one.Add)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// overlay merges the addition into the schema, and leaves the rest unchanged. Rules are appended.
func overlay(schema *apiextensionsv1.JSONSchemaProps, addition apiextensionsv1.JSONSchemaProps) error {
	text, err := yaml.Marshal(addition)
	if err != nil {
		return err
	}
	rules := schema.XValidations
	schema.XValidations = nil
	if err := yaml.Unmarshal(text, schema); err != nil {
		return err
	}
	schema.XValidations = append(rules, schema.XValidations...)
	return nil
}

// at calls do with the schema at a path and stores the result, because schemas are values in their parents.
func at(schema *apiextensionsv1.JSONSchemaProps, path string, do func(*apiextensionsv1.JSONSchemaProps) error) error {
	if path == "" {
		return do(schema)
	}
	step, rest, _ := strings.Cut(path, ".")
	name := strings.TrimRight(step, "[]{}")
	within := strings.TrimPrefix(step, name)
	child, found := schema.Properties[name]
	if !found {
		return fmt.Errorf("there is no %q: put right the path that ends in %q", name, path)
	}
	target := &child
	switch {
	case within == "[]" && child.Items != nil:
		target = child.Items.Schema
	case within == "{}" && child.AdditionalProperties != nil:
		target = child.AdditionalProperties.Schema
	case within != "":
		return fmt.Errorf("%q has no %q: put right the path that ends in %q", name, within, path)
	}
	if err := at(target, rest, do); err != nil {
		return err
	}
	schema.Properties[name] = child
	return nil
}

// render encodes the definition as controller-gen does: without the empty status that the type always has.
func render(crd *apiextensionsv1.CustomResourceDefinition) ([]byte, error) {
	text, err := yaml.Marshal(crd)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := yaml.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	delete(fields, "status")
	text, err = yaml.Marshal(fields)
	return append([]byte("---\n"), text...), err
}
