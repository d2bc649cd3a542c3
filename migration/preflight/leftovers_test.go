package preflight

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
	"github.com/sliceshift/sliceshift/migration/endpoint/endpointtest"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/copy"
)

// besideClaim returns the metadata of an object that a migration keeps beside the claim of an ordinal.
func besideClaim(by types.UID, claim string, role volumes.Role) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "shop", Name: copy.PodName(role, volumes.Ref{Namespace: "shop", Name: claim}, by, 1),
		Labels: map[string]string{api.MigrationLabelKey: string(by)},
	}
}

// TestH1FormerObjects: each kind of object that another migration has left beside an ordinal's claim is found, on
// both sides.
func TestH1FormerObjects(t *testing.T) {
	of := func(change func(*metav1.ObjectMeta)) metav1.ObjectMeta {
		object := besideClaim("former", "data-web-7", volumes.RoleReceiver)
		if change != nil {
			change(&object)
		}
		return object
	}
	for name, tc := range map[string]struct {
		object client.Object
		want   bool
	}{
		"a pod":     {&corev1.Pod{ObjectMeta: of(nil)}, true},
		"a claim":   {&corev1.PersistentVolumeClaim{ObjectMeta: of(nil)}, true},
		"a Service": {&corev1.Service{ObjectMeta: of(nil)}, true},
		"a Service with the name of an ordinal": {&corev1.Service{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web-7", Annotations: map[string]string{api.OwnerAnnotationKey: "former"},
		}}, true},
		"a Service of the user": {&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-7"}}, false},
		"of another namespace":  {&corev1.Pod{ObjectMeta: of(func(m *metav1.ObjectMeta) { m.Namespace = "other" })}, false},
		"of another StatefulSet": {&corev1.Pod{ObjectMeta: of(func(m *metav1.ObjectMeta) {
			m.Name = besideClaim("former", "data-db-7", volumes.RoleReceiver).Name
		})}, false},
		"of this migration": {&corev1.Pod{ObjectMeta: besideClaim("m", "data-web-7", volumes.RoleReceiver)}, false},
		"on its way out": {&corev1.Pod{ObjectMeta: of(func(m *metav1.ObjectMeta) {
			m.DeletionTimestamp, m.Finalizers = &metav1.Time{Time: time.Unix(1, 0)}, []string{"example.com/kept"}
		})}, false},
		"left out on purpose": {&corev1.Pod{ObjectMeta: of(func(m *metav1.ObjectMeta) { m.Annotations = map[string]string{api.LeftOutAnnotationKey: "true"} })}, false},
	} {
		for _, side := range []string{"source", "destination"} {
			t.Run(name+" at the "+side, func(t *testing.T) {
				with, without := clustertest.Hooked(noSnapshots(&meta.NoKindMatchError{}), tc.object), clustertest.Hooked(noSnapshots(&meta.NoKindMatchError{}))
				e := &Inspector{Pair: endpointtest.Pair(with, without)}
				if side == "destination" {
					e = &Inspector{Pair: endpointtest.Pair(without, with)}
					e.Destination.Namespace = "shop"
				}
				m := &api.Migration{ObjectMeta: metav1.ObjectMeta{UID: "m"}}
				found, err := e.leftovers(t.Context(), Subject{Migration: m, Source: claimedSet(nil)})
				if err != nil {
					t.Fatal(err)
				}
				if (len(found) > 0) != tc.want {
					t.Fatalf("found %+v", found)
				}
				if tc.want && (!strings.Contains(found[0].Message, "ordinal 7") || !strings.Contains(found[0].Message, tc.object.GetName())) {
					t.Errorf("found %+v", found)
				}
			})
		}
	}
}

// noSnapshots answers lists of snapshots with an error.
func noSnapshots(answer error) clustertest.Hooks {
	return clustertest.Hooks{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		if slices.Contains([]string{"VolumeSnapshotList", "VolumeSnapshotContentList"}, list.GetObjectKind().GroupVersionKind().Kind) {
			return answer
		}
		return c.List(ctx, list, options...)
	}}
}

// TestH1FormerSnapshots: a move by snapshots without the right to list them reports that, and a missing answer is not
// an empty list.
func TestH1FormerSnapshots(t *testing.T) {
	away := errors.New("no route to host")
	forbidden := apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no right"))
	for name, tc := range map[string]struct {
		method api.VolumeMethod
		answer error
		want   int
		fails  bool
	}{
		"by snapshots, without the right": {api.MethodSnapshot, forbidden, 2, false},
		"otherwise, without the right":    {api.MethodRebind, forbidden, 0, false},
		"without an answer":               {api.MethodRebind, away, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			at := clustertest.Hooked(noSnapshots(tc.answer))
			e := &Inspector{Pair: endpointtest.Pair(at, at)}
			m := &api.Migration{ObjectMeta: metav1.ObjectMeta{UID: "m"}}
			m.Spec.Volumes = []api.VolumeSpec{{ClaimTemplate: "data", Method: tc.method}}
			found, err := e.leftovers(t.Context(), Subject{Migration: m, Source: claimedSet(nil)})
			if (err != nil) != tc.fails || len(found) != tc.want {
				t.Errorf("found %+v, %v", found, err)
			}
			for _, finding := range found {
				if !finding.Warning || finding.Reason != api.ReasonPermissionMissing {
					t.Errorf("found %+v", finding)
				}
			}
		})
	}
}
