package config

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/json"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// admission validates an object as the API server does: with its schema and CEL rules.
type admission struct {
	structural *structuralschema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
}

func newAdmission(t *testing.T, group string) admission {
	t.Helper()
	crds, err := CRDs()
	if err != nil {
		t.Fatal(err)
	}
	kind := map[string]string{api.GroupVersion.Group: "Migration", sliceapi.GroupVersion.Group: "StatefulSet"}[group]
	for _, crd := range crds {
		if crd.Spec.Group != group || crd.Spec.Names.Kind != kind {
			continue
		}
		var schema apiextensions.JSONSchemaProps
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(
			crd.Spec.Versions[0].Schema.OpenAPIV3Schema, &schema, nil); err != nil {
			t.Fatal(err)
		}
		structural, err := structuralschema.NewStructural(&schema)
		if err != nil {
			t.Fatal(err)
		}
		validator, _, err := validation.NewSchemaValidator(&schema)
		if err != nil {
			t.Fatal(err)
		}
		return admission{structural, validator, cel.NewValidator(structural, true, celconfig.PerCallLimit)}
	}
	t.Fatalf("no CRD of %s", group)
	return admission{}
}

// judge returns the errors of the API server for creating the object, or for an update of it that changes nothing. They
// include a rule that does not compile.
func (a admission) judge(t *testing.T, object map[string]any) []error {
	t.Helper()
	var problems []error
	for _, path := range pruning.PruneWithOptions(object, a.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}) {
		t.Errorf("unknown field %s", path)
	}
	defaulting.Default(object, a.structural)
	for _, err := range validation.ValidateCustomResource(nil, object, a.schema) {
		problems = append(problems, err)
	}
	for _, old := range []any{nil, object} {
		refused, _ := a.rules.Validate(t.Context(), nil, a.structural, object, old, celconfig.RuntimeCELCostBudget)
		for _, err := range refused {
			problems = append(problems, err)
		}
	}
	return problems
}

// TestCRDsAreAccepted runs the API server's own code on schemas, CEL rules and costs.
func TestCRDsAreAccepted(t *testing.T) {
	crds, err := CRDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds {
		t.Run(crd.Name, func(t *testing.T) {
			apiextensionsv1.SetDefaults_CustomResourceDefinition(crd)
			apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&crd.Spec)
			for _, version := range crd.Spec.Versions {
				if version.Storage {
					crd.Status.StoredVersions = []string{version.Name}
				}
			}
			var internal apiextensions.CustomResourceDefinition
			if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd, &internal, nil); err != nil {
				t.Fatal(err)
			}
			for _, problem := range crdvalidation.ValidateCustomResourceDefinition(t.Context(), &internal) {
				t.Error(problem)
			}
		})
	}
}

func TestSamplesAreAdmitted(t *testing.T) {
	for pattern, group := range map[string]string{
		"samples/migration_*.yaml":   api.GroupVersion.Group,
		"samples/statefulset_*.yaml": sliceapi.GroupVersion.Group,
	} {
		admission := newAdmission(t, group)
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no samples: %v", err)
		}
		for _, file := range files {
			t.Run(file, func(t *testing.T) {
				for _, problem := range admission.judge(t, readObject(t, file)) {
					t.Error(problem)
				}
			})
		}
	}
}

func readObject(t *testing.T, file string) map[string]any {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	inJSON, err := yaml.YAMLToJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := json.Unmarshal(inJSON, &object); err != nil { // keeps integers as integers
		t.Fatal(err)
	}
	return object
}

// TestVolumesStayAsAccepted: while a migration runs, the API server rejects a change of the method or storage class of
// its volumes. Restoring the accepted value is allowed. Every other change is allowed, even while the spec differs from
// the accepted one.
func TestVolumesStayAsAccepted(t *testing.T) {
	const (
		cutover  = `{"claimTemplate":"data","method":"Copy","copy":{"image":"a","cutover":"Manual"}}`
		copied   = `{"claimTemplate":"data","method":"Copy","copy":{"image":"a"}}`
		fast     = `{"claimTemplate":"data","method":"Copy","storageClassName":"fast","copy":{"image":"a"}}`
		rebound  = `{"claimTemplate":"data","method":"Rebind"}`
		baseline = `"baseline":{"replicas":1,"start":0,"budget":1,"sourceCluster":"e","destinationCluster":"w","sourceUID":"s","startTime":"2026-01-01T00:00:00Z"`
		moving   = `{"total":1,"moved":0,` + baseline + `,"volumes":[` + copied + `]}}`
		plain    = `{"total":1,"moved":0,` + baseline + `,"volumes":[` + rebound + `]}}`
		former   = `{"total":1,"moved":0,` + baseline + `}}`
		over     = `{"total":1,"moved":0,"conditions":[{"type":"Completed","status":"True","reason":"RolledBack","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}],` + baseline + `,"volumes":[` + copied + `]}}`
	)
	rules := newAdmission(t, api.GroupVersion.Group)
	migration := func(status, volumes, mode string) map[string]any {
		t.Helper()
		text := `{"apiVersion":"migration.sliceshift.io/v1alpha1","kind":"Migration","metadata":{"name":"web"},"spec":{"source":{"name":"web"},"destination":{"namespace":"b"},"mode":"` + mode + `"` + volumes + `},"status":` + status + `}`
		var object map[string]any
		if err := json.Unmarshal([]byte(text), &object); err != nil {
			t.Fatal(err)
		}
		defaulting.Default(object, rules.structural)
		return object
	}
	of := func(volumes string) string { return `,"volumes":[` + volumes + `]` }
	for name, tc := range map[string]struct {
		status, was, now string
		refused          bool
	}{
		"not accepted yet":               {`{"total":0,"moved":0}`, of(copied), of(rebound), false},
		"accepted by a former version":   {former, of(copied), of(rebound), false},
		"another method":                 {moving, of(copied), of(rebound), true},
		"the template is dropped":        {moving, of(copied), ``, true},
		"all templates are dropped":      {moving, of(copied), of(``), true},
		"a class":                        {moving, of(copied), of(fast), true},
		"a method where none was named":  {plain, ``, of(copied), true},
		"the default where none was":     {plain, ``, of(rebound), false},
		"what may be changed":            {moving, of(copied), of(cutover), false},
		"another template beside it":     {moving, of(copied), of(copied + `,{"claimTemplate":"logs"}`), false},
		"it is put back":                 {moving, of(rebound), of(copied), false},
		"it is another one already":      {moving, of(rebound), of(rebound), false},
		"from one wrong one to the next": {moving, of(rebound), of(fast), true},
		"it was rolled back":             {over, of(copied), of(rebound), false},
	} {
		refused, _ := rules.rules.Validate(t.Context(), nil, rules.structural, migration(tc.status, tc.now, "Rollback"), migration(tc.status, tc.was, "Run"), celconfig.RuntimeCELCostBudget)
		if got := len(refused) > 0; got != tc.refused {
			t.Errorf("%s: %v", name, refused)
		}
	}
}

// TestServicesStayAsAccepted: while a migration runs, the API server rejects a change of its services. Restoring the
// accepted value is allowed. After its end the services may change. The status may always be written.
func TestServicesStayAsAccepted(t *testing.T) {
	const (
		baseline = `"baseline":{"replicas":1,"start":0,"budget":1,"sourceCluster":"e","destinationCluster":"w","sourceUID":"s","startTime":"2026-01-01T00:00:00Z"`
		former   = `{"total":1,"moved":0,` + baseline + `}}`
		plain    = `{"total":1,"moved":0,` + baseline + `,"services":{}}}`
		named    = `{"total":1,"moved":0,` + baseline + `,"services":{"perOrdinal":"Export"}}}`
		exported = `{"total":1,"moved":0,` + baseline + `,"services":{"export":true,"perOrdinal":"None"}}}`
		over     = `{"total":1,"moved":0,"conditions":[{"type":"Completed","status":"True","reason":"RolledBack","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}],` + baseline + `,"services":{"perOrdinal":"Export"}}}`
		ending   = `{"total":1,"moved":0,"conditions":[{"type":"Completed","status":"False","reason":"Moved","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}],` + baseline + `,"services":{"perOrdinal":"Export"}}}`
		export   = `{"perOrdinal":"Export"}`
		governs  = `{"export":true}`
	)
	rules := newAdmission(t, api.GroupVersion.Group)
	migration := func(status, services, mode string) map[string]any {
		t.Helper()
		if services != "" {
			services = `,"services":` + services
		}
		text := `{"apiVersion":"migration.sliceshift.io/v1alpha1","kind":"Migration","metadata":{"name":"web"},"spec":{"source":{"name":"web"},"destination":{"namespace":"b"},"mode":"` + mode + `"` + services + `},"status":` + status + `}`
		var object map[string]any
		if err := json.Unmarshal([]byte(text), &object); err != nil {
			t.Fatal(err)
		}
		defaulting.Default(object, rules.structural)
		return object
	}
	for name, tc := range map[string]struct {
		status, was, now string
		refused          bool
	}{
		"not accepted yet":               {`{"total":0,"moved":0}`, export, ``, false},
		"accepted by a former version":   {former, export, ``, false},
		"names are turned off":           {named, export, `{"perOrdinal":"None"}`, true},
		"names are dropped":              {named, export, ``, true},
		"names are turned on":            {plain, ``, export, true},
		"an export is turned on":         {plain, `{}`, governs, true},
		"an export is turned off":        {exported, governs, `{"export":false}`, true},
		"one is turned on beside it":     {named, export, `{"export":true,"perOrdinal":"Export"}`, true},
		"the default where none was":     {plain, ``, `{"export":false,"perOrdinal":"None"}`, false},
		"the default is dropped":         {plain, `{"perOrdinal":"None"}`, ``, false},
		"nothing is changed":             {named, export, export, false},
		"it is put back":                 {named, ``, export, false},
		"it is another one already":      {named, ``, ``, false},
		"from one wrong one to the next": {named, ``, governs, true},
		"it lets go":                     {ending, export, ``, true},
		"it was rolled back":             {over, export, ``, false},
	} {
		refused, _ := rules.rules.Validate(t.Context(), nil, rules.structural, migration(tc.status, tc.now, "Rollback"), migration(tc.status, tc.was, "Run"), celconfig.RuntimeCELCostBudget)
		if got := len(refused) > 0; got != tc.refused {
			t.Errorf("%s: %v", name, refused)
		}
	}
	begins, _ := rules.rules.Validate(t.Context(), nil, rules.structural, migration(named, ``, "Run"), migration(former, ``, "Run"), celconfig.RuntimeCELCostBudget)
	if len(begins) > 0 {
		t.Errorf("the status cannot be written: %v", begins)
	}
}

// TestV10DescriptionsAreNotBroken: descriptions have no line breaks within a paragraph, because kubectl explain wraps
// them at the width of the terminal.
func TestV10DescriptionsAreNotBroken(t *testing.T) {
	crds, err := CRDs()
	if err != nil {
		t.Fatal(err)
	}
	broken := regexp.MustCompile(`[^\n]\n[^\s*-]`)
	var walk func(at string, schema apiextensionsv1.JSONSchemaProps)
	walk = func(at string, schema apiextensionsv1.JSONSchemaProps) {
		if broken.MatchString(schema.Description) {
			t.Errorf("%s: %q", at, schema.Description)
		}
		for name, child := range schema.Properties {
			walk(at+"."+name, child)
		}
		if schema.Items != nil && schema.Items.Schema != nil {
			walk(at+"[]", *schema.Items.Schema)
		}
	}
	for _, crd := range crds {
		walk(crd.Name, *crd.Spec.Versions[0].Schema.OpenAPIV3Schema)
	}
}
