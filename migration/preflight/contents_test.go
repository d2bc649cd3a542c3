package preflight

import (
	"context"
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
	"github.com/sliceshift/sliceshift/migration/endpoint/endpointtest"
)

// TestK14ContentsAreRehearsed: a policy that refuses the content of a snapshot is found before an ordinal is stopped,
// on each side.
func TestK14ContentsAreRehearsed(t *testing.T) {
	for name, tc := range map[string]struct {
		method api.VolumeMethod
		answer error
		// want is how many contents are refused.
		want int
	}{
		"refused on both sides":     {api.MethodSnapshot, apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("not among the drivers")), 2},
		"let in":                    {api.MethodSnapshot, nil, 0},
		"a cluster without the API": {api.MethodSnapshot, &meta.NoKindMatchError{}, 0},
		"no snapshots are moved":    {api.MethodRebind, apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("not among the drivers")), 0},
	} {
		t.Run(name, func(t *testing.T) {
			hooks := clustertest.Hooks{Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
				if object.GetObjectKind().GroupVersionKind().Kind == "VolumeSnapshotContent" {
					return tc.answer
				}
				return nil
			}}
			at := clustertest.Hooked(hooks, claimsAndVolumes(nil)...)
			e := &Inspector{Pair: endpointtest.Pair(at, clustertest.Hooked(hooks))}
			m := &api.Migration{}
			m.Spec.Volumes = []api.VolumeSpec{{ClaimTemplate: "data", Method: tc.method}}
			found, err := e.movers(t.Context(), m, claimedSet(func(*appsv1.StatefulSet) {}))
			if err != nil {
				t.Fatal(err)
			}
			for _, finding := range found {
				if finding.Reason != api.ReasonWriteRefused || !strings.HasPrefix(finding.Object, "VolumeSnapshotContent sliceshift-") {
					t.Errorf("found %+v", finding)
				}
			}
			if len(found) != tc.want {
				t.Errorf("found %d, want %d: %+v", len(found), tc.want, found)
			}
		})
	}
}
