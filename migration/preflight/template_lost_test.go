package preflight

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/workload"
)

// TestLost: fields that an API server has dropped are lost; changed or added fields are not (G8).
func TestLost(t *testing.T) {
	for name, tc := range map[string]struct {
		sent, kept string
		want       []string
	}{
		"nothing":               {`{"a":1,"b":{"c":[{"name":"x"}]}}`, `{"a":1,"b":{"c":[{"name":"x"}]}}`, nil},
		"a value":               {`{"a":1,"b":false}`, `{"a":1}`, []string{"t.b"}},
		"another value":         {`{"a":"app:1"}`, `{"a":"mirror/app:1"}`, nil},
		"one was added":         {`{"a":1}`, `{"a":1,"b":2}`, nil},
		"an empty one":          {`{"a":{},"b":[],"c":null}`, `{}`, nil},
		"a whole part":          {`{"a":{"b":{"c":1}}}`, `{"a":{}}`, []string{"t.a.b"}},
		"a sidecar came first":  {`{"a":[{"name":"x","d":1}]}`, `{"a":[{"name":"y"},{"name":"x","d":2}]}`, nil},
		"of an element":         {`{"a":[{"name":"w"},{"name":"x","d":1}]}`, `{"a":[{"name":"w","d":1},{"name":"x"}]}`, []string{"t.a[1].d"}},
		"an element":            {`{"a":[{"name":"w"},{"name":"x"}]}`, `{"a":[{"name":"w"}]}`, []string{"t.a[1]"}},
		"elements without name": {`{"a":[{"key":"k","d":1}]}`, `{"a":[{"e":1},{"key":"k","d":1}]}`, nil},
		"of one without a name": {`{"a":[{"key":"k","d":1}]}`, `{"a":[{"e":1},{"key":"k"}]}`, []string{"t.a[0].d"}},
		"a list of words":       {`{"a":["x","y"]}`, `{"a":["x"]}`, nil},
		"all of the words":      {`{"a":["x"]}`, `{}`, []string{"t.a"}},
		"most of one is lost":   {`{"a":[{"k":1,"d":1,"e":1}]}`, `{"a":[{"k":1}]}`, []string{"t.a[0].d", "t.a[0].e"}},
		"the first is as good":  {`{"a":[{"k":1,"d":1}]}`, `{"a":[{"k":1},{"d":1}]}`, []string{"t.a[0].d"}},
		"one came after":        {`{"a":[{"k":1}]}`, `{"a":[{"k":1},{"e":1}]}`, nil},
		"a word came after":     {`{"a":[{"k":1,"d":1,"e":1}]}`, `{"a":[{"k":1},"x"]}`, []string{"t.a[0].d", "t.a[0].e"}},
		"a word came first":     {`{"a":[{"k":1}]}`, `{"a":["x",{"k":1}]}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var sent, kept any
			for text, to := range map[string]*any{tc.sent: &sent, tc.kept: &kept} {
				if err := json.Unmarshal([]byte(text), to); err != nil {
					t.Fatal(err)
				}
			}
			if tc.sent == tc.kept {
				kept = sent
			}
			if got := lost("t", sent, kept); !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestDropped: a template that is kept is no finding; a dropped field refuses the move, and the finding names the
// field and the side (G8).
func TestDropped(t *testing.T) {
	at := endpoint.Endpoint{Side: plan.DestinationSide, Cluster: "west", Namespace: "shop", Set: "web", APIVersion: workload.NativeVersion}
	sent, kept := namespaced().Spec.Template, namespaced().Spec.Template
	if got := dropped(at, &sent, &kept); got != nil {
		t.Errorf("all is kept: %+v", got)
	}
	kept.Spec.HostUsers = nil
	got := dropped(at, &sent, &kept)
	const says = "cluster west does not keep spec.template.spec.hostUsers"
	if got == nil || got.Reason != api.ReasonKindUnsupported || got.Object != at.Object() || got.Warning || !strings.Contains(got.Message, says) {
		t.Errorf("one is dropped: %+v", got)
	}
}

// namespaced returns a StatefulSet whose pods run in user namespaces.
func namespaced() *appsv1.StatefulSet {
	return &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: appsv1.StatefulSetSpec{
		Replicas: new(int32(3)), Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			HostUsers: new(false), Containers: []corev1.Container{{Name: "web", Image: "web:1"}},
		}},
	}}
}

// TestTemplateThatIsDropped: a destination whose API server drops fields of the pod template is refused: before the
// move if a dry run is possible, else before the first stop (G8). A destination that changes fields is not.
func TestTemplateThatIsDropped(t *testing.T) {
	for name, tc := range map[string]struct {
		stores func(*appsv1.StatefulSet)
		want   string
	}{
		"it keeps all":       {func(*appsv1.StatefulSet) {}, ""},
		"it drops hostUsers": {func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.HostUsers = nil }, "spec.template.spec.hostUsers"},
		"it has a mirror":    {func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Containers[0].Image = "mirror/web:1" }, ""},
	} {
		stores := func(object client.Object) {
			if set, native := object.(*appsv1.StatefulSet); native {
				tc.stores(set)
			}
		}
		engine := func(there ...client.Object) *Inspector {
			return &Inspector{Clock: clock.RealClock{}, Pair: &endpoint.Pair{
				Source:      endpoint.Endpoint{Side: plan.SourceSide, Cluster: "east", Namespace: "shop", Set: "web", APIVersion: workload.NativeVersion, Live: server(func(client.Object) {}, namespaced()), ID: "1"},
				Destination: endpoint.Endpoint{Side: plan.DestinationSide, Cluster: "west", Namespace: "shop", Set: "web", APIVersion: workload.NativeVersion, Live: server(stores, there...), ID: "2"},
			}}
		}
		check := func(t *testing.T, finding *plan.Finding, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case tc.want == "" && finding != nil:
				t.Errorf("found %+v", finding)
			case tc.want != "" && (finding == nil || finding.Warning || finding.Reason != api.ReasonKindUnsupported || !strings.Contains(finding.Message, tc.want) || !strings.Contains(finding.Message, "cluster west")):
				t.Errorf("found %+v, want one of %s", finding, tc.want)
			}
		}
		t.Run(name+", before the move", func(t *testing.T) {
			findings, err := engine().rehearse(t.Context(), &api.Migration{}, namespaced(), nil)
			var first *plan.Finding
			if len(findings) > 0 {
				first = &findings[0]
			}
			check(t, first, err)
		})
		t.Run(name+", before the first stop", func(t *testing.T) {
			for _, order := range []api.Order{api.HighestFirst, api.LowestFirst} {
				there := namespaced()
				tc.stores(there)
				s := plan.Snapshot{
					Spec: plan.Spec{Order: order}, Record: plan.Record{Baseline: &api.Baseline{Replicas: 3}},
					Source: plan.Side{Set: plan.Set{Presence: plan.Seen, Replicas: 3}}, Destination: plan.Side{Set: plan.Set{Presence: plan.Seen, UID: "made"}},
				}
				finding, err := engine(there).KeepsSlice(t.Context(), s, namespaced(), false)
				check(t, finding, err)
			}
		})
	}
}

// TestTemplateIsAskedForAgain: an answer for one template is not used for another.
func TestTemplateIsAskedForAgain(t *testing.T) {
	asks := 0
	there := namespaced()
	e := &Inspector{Clock: clock.RealClock{}, Pair: &endpoint.Pair{Destination: endpoint.Endpoint{Cluster: "west", Namespace: "shop", Set: "web", APIVersion: workload.NativeVersion, Live: server(func(client.Object) { asks++ }, there)}}}
	s := plan.Snapshot{
		Record: plan.Record{Baseline: &api.Baseline{Replicas: 3}},
		Source: plan.Side{Set: plan.Set{Presence: plan.Seen, Replicas: 3}}, Destination: plan.Side{Set: plan.Set{Presence: plan.Seen, UID: "made"}},
	}
	changed := namespaced()
	changed.Spec.Template.Spec.Containers[0].Image = "web:2"
	for _, source := range []*appsv1.StatefulSet{namespaced(), namespaced(), changed, changed} {
		if _, err := e.KeepsSlice(t.Context(), s, source, false); err != nil {
			t.Fatal(err)
		}
	}
	if asks != 2 {
		t.Errorf("asked %d times, want 2", asks)
	}
}

// TestDroppedBeside: fields outside of the pod template that an API server does not keep are reported. Defaults that
// newer API servers store are not.
func TestDroppedBeside(t *testing.T) {
	for name, tc := range map[string]struct{ sent, kept, want string }{
		"nothing":                {`{"minReadySeconds":1,"replicas":3,"template":{"a":1},"ordinals":{"start":1}}`, `{"minReadySeconds":1}`, ""},
		"a field":                {`{"updateStrategy":{"rollingUpdate":{"maxUnavailable":2,"partition":0}}}`, `{"updateStrategy":{"rollingUpdate":{"partition":0}}}`, "spec.updateStrategy.rollingUpdate.maxUnavailable"},
		"what older ones do":     {`{"updateStrategy":{"rollingUpdate":{"maxUnavailable":1,"partition":0}}}`, `{"updateStrategy":{"rollingUpdate":{"partition":0}}}`, ""},
		"of our own kind":        {`{"updateStrategy":{"rollingUpdate":{"podUpdatePolicy":"InPlaceIfPossible"}}}`, `{"updateStrategy":{}}`, "spec.updateStrategy.rollingUpdate"},
		"claims are kept":        {`{"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Retain","whenScaled":"Retain"}}`, `{}`, ""},
		"claims are deleted":     {`{"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Delete","whenScaled":"Retain"}}`, `{}`, "spec.persistentVolumeClaimRetentionPolicy"},
		"another class":          {`{"volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{"storageClassName":"a"}}]}`, `{"volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{"storageClassName":"b"}}]}`, ""},
		"a field of a claim":     {`{"volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{"volumeAttributesClassName":"a"}}]}`, `{"volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{}}]}`, "spec.volumeClaimTemplates[0].spec.volumeAttributesClassName"},
		"the status of a claim":  {`{"volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{},"status":{"phase":"Pending"}}]}`, `{"volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{}}]}`, ""},
		"that it is a claim":     {`{"volumeClaimTemplates":[{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data","creationTimestamp":null},"spec":{"accessModes":["ReadWriteOnce"]}}]}`, `{"volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{"accessModes":["ReadWriteOnce"]}}]}`, ""},
		"it has written it down": {`{}`, `{"revisionHistoryLimit":10}`, ""},
	} {
		var sent, kept any
		for text, to := range map[string]*any{tc.sent: &sent, tc.kept: &kept} {
			if err := json.Unmarshal([]byte(text), to); err != nil {
				t.Fatal(err)
			}
		}
		finding := droppedBeside(endpoint.Endpoint{Cluster: "west"}, sent, kept)
		if tc.want == "" && finding != nil || tc.want != "" && (finding == nil || finding.Reason != api.ReasonKindUnsupported || !strings.Contains(finding.Message, tc.want+" ")) {
			t.Errorf("%s: %+v, want %q", name, finding, tc.want)
		}
	}
}
