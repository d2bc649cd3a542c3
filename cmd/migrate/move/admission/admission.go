// Package admission judges a Migration as an API server would that has its resource definition: no API server sees
// what a run is asked for, or a file before it is applied.
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

	"github.com/sliceshift/sliceshift/config"
	"github.com/sliceshift/sliceshift/migration/health"
	"github.com/sliceshift/sliceshift/migration/probe"
	"github.com/sliceshift/sliceshift/migration/schedule"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Refused is what an API server would not take, each with its field.
type Refused field.ErrorList

// Error implements error: one line for each.
func (r Refused) Error() string {
	lines := make([]string, 0, len(r))
	for _, each := range r {
		lines = append(lines, "  "+line(each))
	}
	return strings.Join(lines, "\n")
}

// line leaves out what the schema's validator says twice.
func line(e *field.Error) string {
	return strings.Replace(e.Error(), ": "+e.Field+" in body ", ": ", 1)
}

// File gives a Migration that somebody has written, as JSON, its defaults. The error is a Refused where an API server
// would not take it.
func File(ctx context.Context, text []byte) (*api.Migration, error) {
	var object map[string]any
	if err := json.Unmarshal(text, &object); err != nil { // whole numbers stay whole
		return nil, err
	}
	if of := (&unstructured.Unstructured{Object: object}).GroupVersionKind(); of != api.GroupVersion.WithKind("Migration") {
		return nil, fmt.Errorf("it has kind %q of %q, and not Migration of %s", of.Kind, of.GroupVersion(), api.GroupVersion)
	}
	if err := judge(ctx, object); err != nil {
		return nil, err
	}
	type strictly api.Migration // without its own way to decode, which is not strict
	m := &strictly{}
	return (*api.Migration)(m), runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object, m, true)
}

// Spec returns a Refused where an API server would not take a spec.
func Spec(ctx context.Context, spec api.MigrationSpec) error {
	m := &api.Migration{Spec: *spec.DeepCopy()}
	m.Name = spec.Source.Name
	// A run's clusters are those of its flags; here they only have to be two.
	m.Spec.Destination.KubeConfigSecretRef = &api.SecretKeyReference{Name: "destination", Key: "value"}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(m)
	if err != nil {
		return err
	}
	return judge(ctx, object)
}

// Sense returns what makes no sense in a spec and only a program sees, as a field and a sentence; empty: nothing. No cluster is asked.
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
		// Which addresses may be asked only the manager's settings say.
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

// judge fills in the defaults, and holds an object against the schema and its rules.
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
	if len(refused) == 0 { // the rules are about what has the form of the schema
		rules := cel.NewValidator(structural, true, celconfig.PerCallLimit)
		refused, _ = rules.Validate(ctx, nil, structural, object, nil, celconfig.RuntimeCELCostBudget)
	}
	if len(refused) > 0 {
		return Refused(refused)
	}
	return nil
}

// definition is the schema of Migrations.
func definition() (*apiextensions.JSONSchemaProps, error) {
	crds, err := config.CRDs()
	if err != nil {
		return nil, err
	}
	for _, crd := range crds {
		if crd.Spec.Group != api.GroupVersion.Group {
			continue
		}
		schema := &apiextensions.JSONSchemaProps{}
		return schema, apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, schema, nil)
	}
	return nil, errors.New("there is no resource definition of Migrations")
}
