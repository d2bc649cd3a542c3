package world

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
)

var testScheme = clusters.NewScheme()

// anyCluster holds objects that a migration of the set web may find, and many objects of others.
func anyCluster(t *rapid.T) client.Client {
	pick := func(of ...string) string { return rapid.SampledFrom(of).Draw(t, "pick") }
	named := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{"app": pick("web", "db", "web", "none")}}
	}
	cluster := map[string]client.Object{}
	put := func(object client.Object) { cluster[fmt.Sprintf("%T/%s", object, object.GetName())] = object }
	if rapid.Bool().Draw(t, "set") {
		set := &appsv1.StatefulSet{ObjectMeta: named("web")}
		set.Spec.Replicas, set.Spec.ServiceName = new(int32(2)), "web"
		set.Spec.Template.Labels = map[string]string{"app": "web"}
		set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}, {ObjectMeta: metav1.ObjectMeta{Name: "my-log"}}}
		put(set)
	}
	for range rapid.IntRange(0, 6).Draw(t, "pods") {
		pod := &corev1.Pod{ObjectMeta: named(pick("web-0", "web-1", "web-7", "db-0", "backup", "my-web-0")), Status: corev1.PodStatus{Phase: corev1.PodPhase(pick("Running", "Failed", "Running"))}}
		if pick("", "owned") != "" {
			pod.OwnerReferences = []metav1.OwnerReference{{Kind: "StatefulSet", Name: "web", UID: "uid-web", Controller: new(true)}}
		}
		if claim := pick("", "data-web-0", "data-web-1", "my-log-web-0", "data-db-0"); claim != "" {
			pod.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}}
		}
		put(pod)
	}
	for range rapid.IntRange(0, 2).Draw(t, "budgets") {
		budget := &policyv1.PodDisruptionBudget{ObjectMeta: named(pick("one", "two"))}
		budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": pick("web", "db")}}
		budget.Status.DisruptedPods = map[string]metav1.Time{pick("web-0", "backup", "gone"): metav1.NewTime(Began)}
		put(budget)
	}
	for range rapid.IntRange(0, 5).Draw(t, "claims") {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: named(pick("data-web-0", "data-web-1", "my-log-web-0", "data-db-0"))}
		claim.Spec.VolumeName = pick("", "pv-0", "pv-1", "pv-9")
		if pick("", "owned") != "" {
			claim.OwnerReferences = []metav1.OwnerReference{{Kind: "StatefulSet", Name: "web", UID: types.UID(pick("uid-web", "former"))}}
		}
		put(claim)
	}
	for range rapid.IntRange(0, 4).Draw(t, "volumes") {
		volume := &corev1.PersistentVolume{ObjectMeta: named(pick("pv-0", "pv-1", "pv-7"))}
		volume.Namespace = ""
		volume.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "csi", VolumeHandle: pick("0", "1")}
		if ref := pick("", "data-web-0", "data-web-0_parked", "data-db-0"); ref != "" {
			volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "shop", Name: ref}
		}
		put(volume)
		attachment := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "va-" + volume.Name}, Spec: storagev1.VolumeAttachmentSpec{NodeName: "node"}}
		attachment.Spec.Source.PersistentVolumeName = new(pick("pv-0", "pv-1", "pv-7"))
		put(attachment)
	}
	put(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
	builder := fake.NewClientBuilder().WithScheme(testScheme)
	for _, index := range clusters.Indexes() {
		builder = builder.WithIndex(index.Object, index.Field, index.Values)
	}
	for _, object := range cluster {
		builder = builder.WithObjects(object)
	}
	return builder.Build()
}

// plain is a view that lists all objects, like an API server.
type plain struct{ client.Client }

// TestViewsShowTheSame: the indexes of a view find the same objects as a search through the whole namespace and all
// volumes.
func TestViewsShowTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := migrating()
		m.Status.Baseline.Replicas = 2
		if rapid.Bool().Draw(t, "on its way") {
			m.Status.Handoff = &api.Handoff{Ordinal: 1, Volumes: []api.HandoffVolume{{ClaimTemplate: "data", Name: "pv-7"}}}
		}
		east, west := anyCluster(t), anyCluster(t)
		look := func(wide bool) plan.Snapshot {
			of := func(side plan.SideName, c client.Client) endpoint.Endpoint {
				return endpoint.Endpoint{Side: side, Cluster: string(side), ID: types.UID(side), Namespace: "shop", Set: "web", Live: plain{c}, Cached: c}
			}
			o := Observer{
				Pair: &endpoint.Pair{Source: of(plan.SourceSide, east), Destination: of(plan.DestinationSide, west)}, Clock: clocktesting.NewFakePassiveClock(Began),
				KeepsSlice: func(context.Context, plan.Snapshot, *appsv1.StatefulSet, bool) (*plan.Finding, error) {
					return nil, nil
				},
			}
			s := o.Snapshot(t.Context(), m, planner.Reads{Live: wide, Wide: wide})
			for _, side := range []*plan.Side{&s.Source, &s.Destination} {
				for i := range side.Budgets {
					if side.Budgets[i].Covers != "" {
						side.Budgets[i].Covers = "one of them"
					}
				}
			}
			return s
		}
		if diff := cmp.Diff(look(true), look(false), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("a view shows something else (-all +view):\n%s", diff)
		}
	})
}
