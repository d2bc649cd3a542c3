package admission

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// TestFile: File rejects exactly the files that an API server would reject, and names the field.
func TestFile(t *testing.T) {
	const head = "apiVersion: migration.sliceshift.io/v1alpha1\nkind: Migration\nmetadata: {name: web, namespace: shop}\n"
	const gate = "spec: {source: {name: web}, destination: {namespace: store}, gates: [{name: ready, at: [AfterStart], "
	for name, tc := range map[string]struct{ file, refused string }{
		"the least":         {"spec: {source: {name: web}, destination: {namespace: store}}", ""},
		"another word":      {"spec: {source: {name: web}, destination: {namespace: store}, mode: Go}", `  spec.mode: Unsupported value: "Go": supported values: "Run"`},
		"another type":      {"spec: {source: {name: web}, destination: {namespace: store}, ordinals: {count: all}}", "spec.ordinals.count: Invalid value: \"string\""},
		"out of bounds":     {gate + "intervalSeconds: 4000, http: {port: 80}}]}", "spec.gates[0].intervalSeconds: Invalid value: 4000: should be less than or equal to 3600"},
		"deep in a gate":    {gate + "http: {port: 70000}}]}", "spec.gates[0].http.port"},
		"a rule":            {gate + "http: {port: 80}, grpc: {port: 80}}]}", "set exactly one of http, grpc, cel, prometheus and job"},
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

// TestSamples: every sample in the repository is valid.
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

// TestSpec: the spec of a run, which names no clusters, is validated in its other fields and remains unchanged.
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

// senseless is a spec without a sensible meaning, and the expected error.
type senseless struct {
	Name    string         `json:"name"`
	Spec    map[string]any `json:"spec"`
	Refused string         `json:"refused"`
}

// TestV11Senseless: a valid Migration without a sensible meaning is rejected with one sentence.
func TestV11Senseless(t *testing.T) {
	text, err := os.ReadFile("testdata/senseless.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all []senseless
	if err := yaml.UnmarshalStrict(text, &all); err != nil {
		t.Fatal(err)
	}
	for _, tc := range all {
		t.Run(tc.Name, func(t *testing.T) {
			spec := map[string]any{"source": map[string]any{"name": "web"}, "destination": map[string]any{"namespace": "store"}}
			maps.Copy(spec, tc.Spec)
			file, err := json.Marshal(map[string]any{
				"apiVersion": api.GroupVersion.String(), "kind": "Migration", "metadata": map[string]any{"name": "web", "namespace": "shop"}, "spec": spec,
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := File(t.Context(), file); err == nil || strings.Count(err.Error(), "\n") > 0 || !strings.Contains(err.Error(), tc.Refused) {
				t.Errorf("refused for %v, want %q", err, tc.Refused)
			}
		})
	}
}

// TestV11Cron: the API server accepts exactly the cron expressions that the schedule can parse.
func TestV11Cron(t *testing.T) {
	for start, reads := range map[string]bool{
		"0 2 * * *": true, "*/15 0-5 1,15 * MON-FRI": true, "30 22 ? JAN,jul sun": true, "05 08 01 12 6": true,
		"60 * * * *": false, "* 24 * * *": false, "* * 0 * *": false, "* * * 13 *": false, "* * * * 7": false, "a * * * *": false, "* * * *": false, "TZ=UTC * * * * *": false,
	} {
		window := api.Window{Start: start, Duration: metav1.Duration{Duration: time.Hour}}
		spec := api.MigrationSpec{Source: api.SourceReference{Name: "web"}, Destination: api.DestinationReference{Namespace: "shop", Name: "web"}, Schedule: &api.ScheduleSpec{Windows: []api.Window{window}}}
		if err := Spec(t.Context(), spec); (err == nil) != reads {
			t.Errorf("%q: %v", start, err)
		}
		if nonsense := Sense(spec); (nonsense == "") != reads {
			t.Errorf("%q by the schedule: %q", start, nonsense)
		}
	}
}

// TestV11Sense: a spec is rejected before it is written, for problems that the schema cannot express.
func TestV11Sense(t *testing.T) {
	gate := api.HealthGate{Name: "db", At: []api.GatePoint{api.GateAtEnd}, CEL: &api.CELGate{Objects: api.GateObjects{APIVersion: "v1", Kind: "Pod", Name: "db-0"}, Expression: "object.status.phase =="}}
	for want, spec := range map[string]api.MigrationSpec{
		"":                                      {},
		"spec.gates, gate db: cel.expression":   {Gates: []api.HealthGate{gate}},
		"spec.hooks, hook drain: job.spec":      {Hooks: []api.Hook{{Name: "drain"}}},
		`spec.schedule: timeZone "Mars/Phobos"`: {Schedule: &api.ScheduleSpec{TimeZone: "Mars/Phobos"}},
	} {
		if got := Sense(spec); !strings.HasPrefix(got, want) || (want == "") != (got == "") {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
