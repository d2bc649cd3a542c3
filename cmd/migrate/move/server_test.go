package move

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/apitest"
	"github.com/sliceshift/sliceshift/cmd/migrate/commandtest"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/movetest"
	"github.com/sliceshift/sliceshift/internal/records"
)

// newConsole returns a process with the commands that move a StatefulSet.
func newConsole(args ...string) *commandtest.Console { return commandtest.New(Commands, args...) }

// servedToMove returns the resources that a move reads and writes at its source.
func servedToMove(also ...schema.GroupVersion) map[schema.GroupVersion]map[string]string {
	served := map[schema.GroupVersion]map[string]string{
		corev1.SchemeGroupVersion: {
			"pods": "Pod", "persistentvolumeclaims": "PersistentVolumeClaim", "persistentvolumes": "PersistentVolume",
			"services": "Service", "namespaces": "Namespace", "configmaps": "ConfigMap",
		},
		appsv1.SchemeGroupVersion:    {"statefulsets": "StatefulSet"},
		policyv1.SchemeGroupVersion:  {"poddisruptionbudgets": "PodDisruptionBudget"},
		storagev1.SchemeGroupVersion: {"volumeattachments": "VolumeAttachment"},
	}
	for _, version := range also {
		served[version] = map[string]string{"migrations": "Migration"}
	}
	return served
}

// left returns the record of a move, and the objects of its source, which has given away two of three ordinals.
func left(completed bool) (*api.Migration, []client.Object) {
	m := movetest.Moving(2, 3)
	m.Spec.Ordinals.Order = api.HighestFirst
	m.Annotations = map[string]string{records.DestinationNameAnnotationKey: "west", records.DestinationAnnotationKey: "cluster-west"}
	m.Status.Baseline = &api.Baseline{Replicas: 3, Budget: 1, SourceCluster: "cluster-east", DestinationCluster: "cluster-west", SourceUID: "set", DestinationUID: "there"}
	m.Status.Conditions = movetest.Conditions(time.Hour, metav1.Condition{Type: api.ConditionAccepted, Status: metav1.ConditionTrue, Reason: api.ReasonReady})
	if completed {
		m.Status.Conditions = append(m.Status.Conditions, movetest.Conditions(0, metav1.Condition{Type: api.ConditionCompleted, Status: metav1.ConditionTrue, Reason: api.ReasonMoved})...)
	}
	labels := map[string]string{"app": "web"}
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "set"},
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: labels}, PodManagementPolicy: appsv1.ParallelPodManagement,
			Template:             corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}},
		},
		Status: appsv1.StatefulSetStatus{CurrentRevision: "web-1", UpdateRevision: "web-1"},
	}
	objects := []client.Object{
		set, podOf(0), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: "cluster-east"}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}},
	}
	for ordinal := range 3 {
		objects = append(objects, diskOf(ordinal)...)
	}
	return m, objects
}

func podOf(ordinal int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: fmt.Sprintf("web-%d", ordinal), Labels: map[string]string{"app": "web", appsv1.ControllerRevisionHashLabelKey: "web-1"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "web", UID: "set", Controller: new(true)}},
		},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(commandtest.Noon.Add(-time.Hour))}}},
	}
}

// diskOf returns the claim and the volume of an ordinal; all volumes but the first are parked.
func diskOf(ordinal int) []client.Object {
	name := fmt.Sprintf("data-web-%d", ordinal)
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name)},
		Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: "pv-" + name}, Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound},
	}
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pv-" + name, UID: types.UID("pv-" + name)},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			ClaimRef:                      &corev1.ObjectReference{Namespace: "shop", Name: name, UID: types.UID(name)},
			PersistentVolumeSource:        corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "disk.example", VolumeHandle: "disk-" + name}},
		},
		Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound},
	}
	if ordinal > 0 {
		claim.Status.Phase = corev1.ClaimLost
		volume.Spec.ClaimRef, volume.Status.Phase = &corev1.ObjectReference{Namespace: "shop", Name: name + "_parked"}, corev1.VolumeAvailable
	}
	return []client.Object{claim, volume}
}

// recorded returns the ConfigMap that stores a migration.
func recorded(t *testing.T, m *api.Migration) *corev1.ConfigMap {
	t.Helper()
	kept := m.DeepCopy()
	kept.TypeMeta = metav1.TypeMeta{APIVersion: api.GroupVersion.String(), Kind: "Migration"}
	kept.UID = ""
	data, err := yaml.Marshal(kept)
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "sliceshift-web", UID: "migration", Labels: map[string]string{records.LabelKey: "web"}},
		Data:       map[string]string{"migration.yaml": string(data)},
	}
}

// controllers simulates the controllers at the source: it creates pods of the StatefulSet, and binds claims to the
// volumes that name them.
func controllers(ctx context.Context, s *apitest.Server) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		set := &appsv1.StatefulSet{}
		if s.Store.Get(ctx, client.ObjectKey{Namespace: "shop", Name: "web"}, set) != nil {
			return
		}
		for ordinal := range int(*set.Spec.Replicas) {
			_ = s.Store.Create(ctx, podOf(ordinal)) // it may already exist
		}
		volumes := &corev1.PersistentVolumeList{}
		_ = s.Store.List(ctx, volumes)
		for i := range volumes.Items {
			ref, claim := volumes.Items[i].Spec.ClaimRef, &corev1.PersistentVolumeClaim{}
			if s.Store.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, claim) == nil && claim.Status.Phase != corev1.ClaimBound {
				claim.Status.Phase, volumes.Items[i].Status.Phase = corev1.ClaimBound, corev1.VolumeBound
				_ = s.Store.Status().Update(ctx, claim) // the next round tries again
				_ = s.Store.Status().Update(ctx, &volumes.Items[i])
			}
		}
	}, 5*time.Millisecond)
}

// serveRecord serves the record of a run, and the resources that the steering commands need.
func serveRecord(t *testing.T, m *api.Migration) *apitest.Server {
	t.Helper()
	served := map[schema.GroupVersion]map[string]string{corev1.SchemeGroupVersion: {"configmaps": "ConfigMap", "namespaces": "Namespace", "persistentvolumes": "PersistentVolume"}}
	return apitest.Serve(t, served, recorded(t, m), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: "cluster-1"}})
}

// storedRecord returns the current record of shop/web.
func storedRecord(t *testing.T, s *apitest.Server) *api.Migration {
	t.Helper()
	m, err := records.ConfigMap{Client: s.Store, Namespace: "shop", Name: "web"}.Load(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	return m
}
