package kept

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/internal/shell"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// parked returns a volume that a migration has parked.
func parked(name, claim string, by types.UID, changes ...func(*corev1.PersistentVolume)) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{api.OriginalReclaimPolicyAnnotationKey: "Delete " + string(by)}}}
	v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
	v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "d", VolumeHandle: "h"}
	v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "shop", Name: claim + "_parked"}
	for _, change := range changes {
		change(v)
	}
	return v
}

// sealed marks a volume as filled by a copy. A later move by Rebind runs on its disk.
func sealed(v *corev1.PersistentVolume) { v.Annotations[api.SealAnnotationKey] = "blake3:1" }

// completed returns a migration of a set with one template by Copy and one by Rebind.
func completed(name string, uid types.UID) *api.Migration {
	m := &api.Migration{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: uid}}
	m.Spec.Source.Name = "web"
	m.Spec.Volumes = []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodCopy}, {ClaimTemplate: "logs"}}
	meta.SetStatusCondition(&m.Status.Conditions, metav1.Condition{Type: api.ConditionCompleted, Status: metav1.ConditionTrue, Reason: api.ReasonRolledBack})
	return m
}

func cluster(hooks interceptor.Funcs, objects ...client.Object) client.WithWatch {
	return fake.NewClientBuilder().WithScheme(clusters.NewScheme()).WithObjects(objects...).WithStatusSubresource().WithInterceptorFuncs(hooks).Build()
}

// TestAll: each volume is listed with its disk and the command that removes the object but not the disk.
func TestAll(t *testing.T) {
	goesOn := completed("moving", "moves")
	goesOn.Status.Conditions = nil
	c := cluster(interceptor.Funcs{}, completed("web", "uid"), goesOn,
		parked("before", "data-web-0", "uid"), parked("copy", "data-web-1", "gone", sealed), parked("disk", "logs-web-0", "uid"),
		parked("needed", "data-web-2", "moves"), parked("nobody's", "data-db-0", "gone"),
		parked("deletes", "logs-web-1", "uid", func(v *corev1.PersistentVolume) {
			v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimDelete
		}),
		parked("in-use", "data-web-3", "uid", func(v *corev1.PersistentVolume) { v.Spec.ClaimRef.Name = "data-web-3" }),
	)
	got, err := All(t.Context(), c, shell.Kubectl{Flags: "--context east"})
	if err != nil {
		t.Fatal(err)
	}
	want := []Volume{
		{Name: "nobody's", Claim: "shop/data-db-0", Migration: "gone", Disk: "d/h", Remove: `kubectl --context east delete pv 'nobody'\''s'`},
		{Name: "before", Claim: "shop/data-web-0", Migration: "shop/web", Disk: "d/h", Remove: "kubectl --context east delete pv before"},
		{Name: "copy", Claim: "shop/data-web-1", Migration: "gone", Disk: "d/h", Remove: "kubectl --context east delete pv copy"},
		{Name: "needed", Claim: "shop/data-web-2", Migration: "shop/moving", Disk: "d/h"},
		{Name: "disk", Claim: "shop/logs-web-0", Migration: "shop/web", Disk: "d/h", Remove: "kubectl --context east delete pv disk"},
		{Name: "deletes", Claim: "shop/logs-web-1", Migration: "shop/web", Disk: "d/h", Remove: `kubectl --context east patch pv deletes -p '{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}' && kubectl --context east delete pv deletes`},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Volume{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	own, err := Of(t.Context(), c, shell.Kubectl{Flags: "--context east"}, completed("web", "uid"))
	if err != nil || len(own) != 3 {
		t.Errorf("of one migration: %+v, %v", own, err)
	}
	text := strings.Join(Lines("east", got), "\n")
	for _, part := range []string{"6 volumes in cluster east", "disk d/h stays", "shop/moving is in progress"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in:\n%s", part, text)
		}
	}
	if Lines("east", nil) != nil {
		t.Error("nothing is told as something")
	}
}

// TestRecordsCount: volumes that a run has moved are named by its record. A user that may not read records still sees
// the volumes.
func TestRecordsCount(t *testing.T) {
	record := records.ConfigMap{Client: cluster(interceptor.Funcs{}), Namespace: "shop", Name: "web"}
	m := completed("web", "")
	if err := record.Create(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	kept := &corev1.ConfigMap{}
	if err := record.Client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: record.ObjectName()}, kept); err != nil {
		t.Fatal(err)
	}
	kept.UID, kept.ResourceVersion = "record", ""
	forbidden := apierrors.NewForbidden(corev1.Resource("configmaps"), "", errors.New("no"))
	refuses := func(what client.ObjectList) interceptor.Funcs {
		return interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if _, maps := list.(*corev1.ConfigMapList); maps || what == nil {
				return forbidden
			}
			return c.List(ctx, list, options...)
		}}
	}
	for name, tc := range map[string]struct {
		hooks interceptor.Funcs
		by    string
		fails bool
	}{
		"it is read":          {interceptor.Funcs{}, "shop/web", false},
		"it may not be read":  {refuses(&corev1.ConfigMapList{}), "record", false},
		"nothing may be read": {refuses(nil), "", true},
	} {
		got, err := All(t.Context(), cluster(tc.hooks, kept.DeepCopy(), parked("pv", "data-web-0", "record")), shell.Kubectl{})
		if (err != nil) != tc.fails || !tc.fails && (len(got) != 1 || got[0].Migration != tc.by) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestName: the snapshot names the migration that parked a volume at the destination, if it is known there. Without
// volumes of other migrations no request is sent.
func TestName(t *testing.T) {
	held := func(by types.UID, claim string) plan.OrdinalVolume {
		ref := volumes.Ref{Namespace: "shop", Name: "data-web-0"}
		return plan.OrdinalVolume{Destination: volumes.Holding{Ref: ref, Volume: volumes.Volume{Found: true, ClaimRef: volumes.Ref{Namespace: "shop", Name: claim}, Note: volumes.Note{By: by}}}}
	}
	fails := interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return errors.New("nobody answers")
	}}
	for name, tc := range map[string]struct {
		hooks interceptor.Funcs
		by    types.UID
		claim string
		want  string
	}{
		"known":                  {interceptor.Funcs{}, "uid", "data-web-0_parked", "shop/web"},
		"gone":                   {interceptor.Funcs{}, "gone", "data-web-0_parked", ""},
		"this very migration":    {fails, "own", "data-web-0_parked", ""},
		"in use":                 {fails, "uid", "data-web-0", ""},
		"it cannot be asked for": {fails, "uid", "data-web-0_parked", ""},
	} {
		s := plan.Snapshot{UID: "own", Volumes: []plan.OrdinalVolume{held(tc.by, tc.claim)}}
		Name(t.Context(), cluster(tc.hooks, completed("web", "uid")), &s)
		if got := s.Volumes[0].Destination.Volume.ParkedBy; got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
