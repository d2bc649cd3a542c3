package admission

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// TestFile: what an API server would not take of a file is refused by its field, and nothing else is.
func TestFile(t *testing.T) {
	const head = "apiVersion: migration.sliceshift.io/v1alpha1\nkind: Migration\nmetadata: {name: web, namespace: shop}\n"
	const gate = "spec: {source: {name: web}, destination: {namespace: store}, gates: [{name: ready, at: [AfterStart], "
	for name, tc := range map[string]struct{ file, refused string }{
		"the least":         {"spec: {source: {name: web}, destination: {namespace: store}}", ""},
		"another word":      {"spec: {source: {name: web}, destination: {namespace: store}, mode: Go}", `  spec.mode: Unsupported value: "Go": supported values: "Run"`},
		"another type":      {"spec: {source: {name: web}, destination: {namespace: store}, ordinals: {count: all}}", "spec.ordinals.count: Invalid value: \"string\""},
		"out of bounds":     {gate + "intervalSeconds: 4000, http: {port: 80}}]}", "spec.gates[0].intervalSeconds: Invalid value: 4000: should be less than or equal to 3600"},
		"deep in a gate":    {gate + "http: {port: 70000}}]}", "spec.gates[0].http.port"},
		"a rule":            {gate + "http: {port: 80}, grpc: {port: 80}}]}", "exactly one of http, grpc, cel, prometheus and job says what is asked"},
		"two of one name":   {"spec: {source: {name: web}, destination: {namespace: store}, volumes: [{claimTemplate: data}, {claimTemplate: data}]}", `spec.volumes[1]: Duplicate value`},
		"nowhere else":      {"spec: {source: {name: web}, destination: {}}", "source and destination are the same StatefulSet"},
		"what is not there": {"spec: {destination: {namespace: store}}", "spec.source: Required value"},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := yaml.YAMLToJSON([]byte(head + tc.file))
			if err != nil {
				t.Fatal(err)
			}
			m, err := File(t.Context(), text)
			if tc.refused == "" {
				if err != nil || m.Spec.Mode != api.ModeRun || m.Spec.Ordinals.Order != api.HighestFirst {
					t.Errorf("%v, and it lacks defaults: %+v", err, m)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.refused) {
				t.Errorf("refused for %v, want %q", err, tc.refused)
			}
		})
	}
}

// TestSamples: all that the repository shows is taken.
func TestSamples(t *testing.T) {
	files, err := filepath.Glob("../../../../config/samples/migration_*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if text, err = yaml.YAMLToJSON(text); err != nil {
			t.Fatal(err)
		}
		if _, err := File(t.Context(), text); err != nil {
			t.Errorf("%s:\n%v", file, err)
		}
	}
}

// TestSpec: a run, whose clusters no spec names, is judged by what is asked for besides, and its spec stays as it is.
func TestSpec(t *testing.T) {
	spec := api.MigrationSpec{Source: api.SourceReference{Name: "web"}, Destination: api.DestinationReference{Namespace: "shop", Name: "web"}}
	before := *spec.DeepCopy()
	if err := Spec(t.Context(), spec); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(before, spec); diff != "" {
		t.Errorf("it was changed (-was +is):\n%s", diff)
	}
	spec.MaxUnavailable = new(intstr.FromInt32(0))
	if err := Spec(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "spec.maxUnavailable") {
		t.Errorf("no budget at all: %v", err)
	}
}
