// Package admission validates a Migration as an API server with the resource definition would. The spec of a run, and a
// file before it is applied, never reach an API server.
package admission

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/config"
	"github.com/sliceshift/sliceshift/migration/health"
	"github.com/sliceshift/sliceshift/migration/probe"
	"github.com/sliceshift/sliceshift/migration/schedule"
)

// Refused lists the errors that an API server would return, each with its field.
type Refused field.ErrorList

// Error implements error. It returns one line for each error.
func (r Refused) Error() string { return r.Text(func(string) string { return "" }) }

// Text returns one line for each error, which begins with the origin of its field.
func (r Refused) Text(origin func(field string) string) string {
	lines := make([]string, 0, len(r))
	for _, each := range r {
		lines = append(lines, "  "+origin(each.Field)+line(each))
	}
	return strings.Join(lines, "\n")
}

// line removes repetitions from an error of the schema's validator.
func line(e *field.Error) string {
	return strings.Replace(e.Error(), ": "+e.Field+" in body ", ": ", 1)
}

// File decodes a Migration written by a user, as JSON, and sets defaults. It returns a Refused if an API server would
// reject it.
func File(ctx context.Context, text []byte) (*api.Migration, error) {
	var object map[string]any
	if err := json.Unmarshal(text, &object); err != nil { // keeps integers as integers
		return nil, err
	}
	if of := (&unstructured.Unstructured{Object: object}).GroupVersionKind(); of != api.GroupVersion.WithKind("Migration") {
		return nil, fmt.Errorf("it has kind %q of %q, and not Migration of %s", of.Kind, of.GroupVersion(), api.GroupVersion)
	}
	if err := judge(ctx, object); err != nil {
		return nil, err
	}
	type strictly api.Migration // avoids its UnmarshalJSON, which is not strict
	m := &strictly{}
	return (*api.Migration)(m), runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object, m, true)
}

// Spec returns a Refused if an API server would reject the spec.
func Spec(ctx context.Context, spec api.MigrationSpec) error {
	m := &api.Migration{Spec: *spec.DeepCopy()}
	m.Name = spec.Source.Name
	if m.Spec.Storage == nil {
		// The flags of a run select its clusters; the rules only require that there are two.
		m.Spec.Destination.KubeConfigSecretRef = &api.SecretKeyReference{Name: "destination", Key: "value"}
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(m)
	if err != nil {
		return err
	}
	return judge(ctx, object)
}

// Sense returns a problem of a spec that the schema cannot express, as a field and a sentence, or an empty string. It
// contacts no cluster.
func Sense(spec api.MigrationSpec) string {
	if s := schedule.Of(spec.Schedule); s != nil && s.Problem() != "" {
		return "spec.schedule: " + s.Problem()
	}
	if spec.Probe != nil {
		if err := probe.Check(*spec.Probe); err != nil {
			return "spec." + err.Error()
		}
	}
	for _, gate := range spec.Gates {
		// Only the manager's settings define which addresses may be queried.
		if _, err := health.New(gate, health.Sides{}); gate.Prometheus == nil && err != nil {
			return fmt.Sprintf("spec.gates, gate %s: %v", gate.Name, err)
		}
	}
	for _, hook := range spec.Hooks {
		if unfit := hook.Unfit(); unfit != "" {
			return fmt.Sprintf("spec.hooks, hook %s: %s", hook.Name, unfit)
		}
	}
	return ""
}

// judge sets defaults and validates an object against the schema and its rules.
func judge(ctx context.Context, object map[string]any) error {
	schema, err := definition()
	if err != nil {
		return err
	}
	structural, err := structuralschema.NewStructural(schema)
	if err != nil {
		return fmt.Errorf("the resource definition of Migrations: %w", err)
	}
	defaulting.Default(object, structural)
	validator, _, err := validation.NewSchemaValidator(schema)
	if err != nil {
		return fmt.Errorf("the resource definition of Migrations: %w", err)
	}
	refused := validation.ValidateCustomResource(nil, object, validator)
	refused = append(refused, listtype.ValidateListSetsAndMaps(nil, structural, object)...)
	if len(refused) == 0 { // the rules assume an object that fits the schema
		rules := cel.NewValidator(structural, true, celconfig.PerCallLimit)
		refused, _ = rules.Validate(ctx, nil, structural, object, nil, celconfig.RuntimeCELCostBudget)
	}
	if len(refused) > 0 {
		return Refused(refused)
	}
	return nil
}

// definition returns the schema of Migrations.
func definition() (*apiextensions.JSONSchemaProps, error) {
	crds, err := config.CRDs()
	if err != nil {
		return nil, err
	}
	for _, crd := range crds {
		if crd.Spec.Group != api.GroupVersion.Group || crd.Spec.Names.Kind != "Migration" {
			continue
		}
		schema := &apiextensions.JSONSchemaProps{}
		return schema, apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, schema, nil)
	}
	return nil, errors.New("there is no resource definition of Migrations")
}
