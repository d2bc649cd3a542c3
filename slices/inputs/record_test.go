package inputs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

func anyRecord(t *rapid.T) Record {
	return Record{
		Kind:    rapid.SampledFrom([]api.RevisionInputKind{api.InputConfigMap, api.InputSecret}).Draw(t, "kind"),
		Name:    rapid.StringMatching(`[a-z]([a-z0-9.-]{0,251}[a-z0-9])?`).Filter(func(s string) bool { return len(validation.IsDNS1123Subdomain(s)) == 0 }).Draw(t, "name"),
		Content: rapid.OneOf(rapid.Just(api.InputAbsent), rapid.StringMatching(`[0-9a-f]{16}`)).Draw(t, "content"),
	}
}

// TestRecords: for any inputs, the annotation returns them, in any order, and each copy has a valid name. Different contents
// have different names.
func TestRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := rapid.SliceOfNDistinct(rapid.Custom(anyRecord), 0, 5, Record.Ref).Draw(t, "records")
		text := Encode(records)
		if other := rapid.Permutation(records).Draw(t, "order"); Encode(other) != text {
			t.Fatalf("the order matters: %s and %s", text, Encode(other))
		}
		got, err := RecordsOf(&appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{api.RevisionInputsAnnotationKey: text}}})
		if err != nil || Encode(got) != text || len(got) != len(records) {
			t.Fatalf("%s becomes %v: %v", text, got, err)
		}
		for _, record := range records {
			if faults := validation.IsDNS1123Subdomain(record.Copy()); len(faults) > 0 || !strings.HasSuffix(record.Copy(), "-"+record.Content) {
				t.Fatalf("%s: %v", record.Copy(), faults)
			}
		}
	})
}

// TestBadRecords: an annotation that was edited is refused, with its remedy.
func TestBadRecords(t *testing.T) {
	for _, text := range []string{
		`x`, `{}`, `[{"kind":"Pod","name":"a","content":"absent"}]`, `[{"kind":"Secret","name":"","content":"absent"}]`,
		`[{"kind":"Secret","name":"a","content":"../x"}]`, `[{"kind":"Secret","name":"a"}]`, `[{"kind":"Secret","name":"a","content":"0123456789ABCDEF"}]`,
	} {
		revision := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", Annotations: map[string]string{api.RevisionInputsAnnotationKey: text}}}
		if got, err := RecordsOf(revision); err == nil || got != nil || !strings.Contains(err.Error(), "ControllerRevision shop/web-1") {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

// TestResolve: the content of an object counts, unless it was rolled back. An object that pods need must exist.
func TestResolve(t *testing.T) {
	const a, b, c = "000000000000000a", "000000000000000b", "000000000000000c"
	ref := Ref{api.InputConfigMap, "app"}
	for name, tc := range map[string]struct {
		optional bool
		back     *api.RolledBackInput
		now      string
		want     string
	}{
		"it exists":                          {false, nil, a, a},
		"it does not":                        {false, nil, api.InputAbsent, "missing"},
		"it does not, and is optional":       {true, nil, api.InputAbsent, api.InputAbsent},
		"rolled back":                        {false, &api.RolledBackInput{From: b, To: a}, b, a},
		"rolled back, and changed since":     {false, &api.RolledBackInput{From: b, To: a}, c, c},
		"rolled back, and deleted since":     {false, &api.RolledBackInput{From: b, To: a}, api.InputAbsent, "missing"},
		"its deletion is rolled back":        {false, &api.RolledBackInput{From: api.InputAbsent, To: a}, api.InputAbsent, a},
		"rolled back to none":                {true, &api.RolledBackInput{From: b, To: api.InputAbsent}, b, api.InputAbsent},
		"rolled back to none that is needed": {false, &api.RolledBackInput{From: b, To: api.InputAbsent}, b, "missing"},
	} {
		records, missing := Resolve([]Named{{ref, tc.optional, tc.back}}, map[Ref]string{ref: tc.now})
		switch {
		case tc.want == "missing":
			if len(records) > 0 || !slices.Equal(missing, []Ref{ref}) {
				t.Errorf("%s: %v, missing %v", name, records, missing)
			}
		case len(missing) > 0 || !slices.Equal(records, []Record{{ref.Kind, ref.Name, tc.want}}):
			t.Errorf("%s: %v, missing %v", name, records, missing)
		}
	}
}

// TestChanged: the first input that differs is named, in either revision.
func TestChanged(t *testing.T) {
	app, key := Record{api.InputConfigMap, "app", "1"}, Record{api.InputSecret, "key", "1"}
	next := Record{api.InputConfigMap, "app", "2"}
	for want, tc := range map[string][2][]Record{
		"":                             {{app, key}, {key, app}},
		"the content of ConfigMap app": {{app, key}, {next, key}},
		"the content of Secret key":    {{app, key}, {app}},
	} {
		if got := Changed(tc[0], tc[1]); got != want {
			t.Errorf("%v: %q", tc, got)
		}
		if back := Changed(tc[1], tc[0]); back != want {
			t.Errorf("back, %v: %q", fmt.Sprint(tc), back)
		}
	}
}
