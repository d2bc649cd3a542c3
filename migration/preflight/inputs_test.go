package preflight

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
	"github.com/sliceshift/sliceshift/migration/endpoint/endpointtest"
	"github.com/sliceshift/sliceshift/workload"
)

// TestRevisionInputsOfAMove: revision inputs are refused unless both slices read the same objects.
func TestRevisionInputsOfAMove(t *testing.T) {
	app, key := slicesapi.RevisionInput{Kind: slicesapi.InputConfigMap, Name: "app"}, slicesapi.RevisionInput{Kind: slicesapi.InputSecret, Name: "key"}
	back := app
	back.RolledBack = &slicesapi.RolledBackInput{From: "0000000000000001", To: "0000000000000002"}
	set := func(namespace, name string, listed ...slicesapi.RevisionInput) client.Object {
		return &slicesapi.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: slicesapi.StatefulSetSpec{RevisionInputs: listed}}
	}
	for name, tc := range map[string]struct {
		source, destination client.Object
		// from and to are the apiVersions.
		from, to string
		same     bool
		want     string
	}{
		"neither has any":                       {set("shop", "web"), set("team", "site"), workload.SliceVersion, workload.SliceVersion, false, ""},
		"of apps/v1":                            {nil, nil, workload.NativeVersion, workload.NativeVersion, false, ""},
		"the source, to another cluster":        {set("shop", "web", key, app), nil, workload.SliceVersion, workload.SliceVersion, false, "StatefulSet shop/web in cluster east has spec.revisionInputs (Secret key first)"},
		"the source, to another namespace":      {set("shop", "web", app), nil, workload.SliceVersion, workload.SliceVersion, true, "in cluster east has spec.revisionInputs"},
		"the destination alone":                 {nil, set("team", "site", app), workload.NativeVersion, workload.SliceVersion, true, "StatefulSet team/site in cluster west has spec.revisionInputs"},
		"one namespace, created by the move":    {set("team", "web", app), nil, workload.SliceVersion, workload.SliceVersion, true, ""},
		"one namespace, the same list":          {set("team", "web", app, key), set("team", "site", key, app), workload.SliceVersion, workload.SliceVersion, true, ""},
		"one namespace, a shorter list":         {set("team", "web", app, key), set("team", "site", key), workload.SliceVersion, workload.SliceVersion, true, "has spec.revisionInputs"},
		"one namespace, another rollback":       {set("team", "web", app), set("team", "site", back), workload.SliceVersion, workload.SliceVersion, true, "has spec.revisionInputs"},
		"one namespace, the same rollback":      {set("team", "web", back), set("team", "site", back), workload.SliceVersion, workload.SliceVersion, true, ""},
		"one namespace, the destination alone":  {set("team", "web"), set("team", "site", app), workload.SliceVersion, workload.SliceVersion, true, "has spec.revisionInputs"},
		"one namespace, from apps/v1":           {nil, set("team", "site", app), workload.NativeVersion, workload.SliceVersion, true, "has spec.revisionInputs"},
		"one namespace, to apps/v1: the fields": {set("team", "web", app), nil, workload.SliceVersion, workload.NativeVersion, true, "which apps/v1 does not know"},
	} {
		t.Run(name, func(t *testing.T) {
			var objects []client.Object
			for _, object := range []client.Object{tc.source, tc.destination} {
				if object != nil {
					objects = append(objects, object)
				}
			}
			server := clustertest.New(objects...)
			e := &Inspector{Pair: endpointtest.Pair(server, server)}
			e.Source.APIVersion, e.Destination.APIVersion = tc.from, tc.to
			e.Destination.Namespace, e.Destination.Set = "team", "site"
			if tc.source != nil {
				e.Source.Namespace = tc.source.GetNamespace()
			} else if strings.HasPrefix(name, "one namespace") {
				e.Source.Namespace = "team"
			}
			if tc.same {
				e.Destination.ID = e.Source.ID
			}
			if tc.destination != nil {
				e.Destination.Namespace, e.Destination.Set = tc.destination.GetNamespace(), tc.destination.GetName()
			}
			found, err := e.unsupportedFields(t.Context())
			if err != nil || (len(found) == 0) != (tc.want == "") {
				t.Fatalf("%+v, %v", found, err)
			}
			if len(found) > 0 && (found[0].Reason != api.ReasonKindUnsupported || found[0].Warning || found[0].Remedy == "" || !strings.Contains(found[0].Message, tc.want)) {
				t.Errorf("%+v", found[0])
			}
		})
	}
}
