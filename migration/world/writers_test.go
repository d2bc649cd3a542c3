package world_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/migration/endpoint/endpointtest"
	"github.com/sliceshift/sliceshift/migration/world"
)

// TestScalerOfAWriter: an autoscaler that a ScaledObject has created over the StatefulSet is reported with it, and no
// other is.
func TestScalerOfAWriter(t *testing.T) {
	kind := schema.GroupVersionKind{Group: "keda.sh", Version: "v1alpha1", Kind: "ScaledObject"}
	scaled := endpointtest.Object(`{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, metadata: {namespace: shop, name: writer, uid: "7"}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: StatefulSet, name: web}}}`)
	scaler := func(name, owner, set string) *autoscalingv2.HorizontalPodAutoscaler {
		return &autoscalingv2.HorizontalPodAutoscaler{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, OwnerReferences: []metav1.OwnerReference{{APIVersion: "keda.sh/v1alpha1", Kind: kind.Kind, Name: "writer", UID: types.UID(owner), Controller: new(true)}}},
			Spec:       autoscalingv2.HorizontalPodAutoscalerSpec{ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: set}},
		}
	}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{kind.GroupVersion(), autoscalingv2.SchemeGroupVersion})
	mapper.Add(kind, meta.RESTScopeNamespace)
	mapper.Add(autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"), meta.RESTScopeNamespace)
	m := &api.Migration{Spec: api.MigrationSpec{Writers: api.WritersSpec{Pause: true}}}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	for name, tc := range map[string]struct {
		scaler *autoscalingv2.HorizontalPodAutoscaler
		want   string
	}{
		"its own":        {scaler("keda-hpa-writer", "7", "web"), "keda-hpa-writer"},
		"another's":      {scaler("keda-hpa-writer", "8", "web"), ""},
		"of another set": {scaler("keda-hpa-writer", "7", "db"), ""},
	} {
		live := fake.NewClientBuilder().WithScheme(clusters.NewScheme()).WithRESTMapper(mapper).WithObjects(scaled, tc.scaler).Build()
		list, err := world.WritersOf(t.Context(), endpointtest.Source(live), m, set)
		if err != nil || len(list) != 1 || list[0].Scaler != tc.want {
			t.Errorf("%s: got %+v, %v", name, list, err)
		}
	}
}

// TestWriterOfAnotherVersion: an updated operator serves its resources in another version than an owner reference, or
// a record, names. These resources still write the StatefulSet. They are not taken for absent, and are not forgotten
// while they are paused.
func TestWriterOfAnotherVersion(t *testing.T) {
	served := schema.GroupVersionKind{Group: "kafka.strimzi.io", Version: "v1", Kind: "Kafka"}
	kafka := &unstructured.Unstructured{}
	kafka.SetGroupVersionKind(served)
	kafka.SetNamespace("shop")
	kafka.SetName("broker")
	kafka.SetUID("7")
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{served.GroupVersion()})
	mapper.Add(served, meta.RESTScopeNamespace)
	live := fake.NewClientBuilder().WithScheme(runtime.NewScheme()).WithRESTMapper(mapper).WithRuntimeObjects(kafka).Build()
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "kafka.strimzi.io/v1beta2", Kind: "Kafka", Name: "broker", UID: "7", Controller: new(true)},
	}}}
	recorded := api.PausedWriter{WriterReference: api.WriterReference{
		Group: served.Group, Version: "v1beta2", Kind: served.Kind, Namespace: "shop", Name: "broker", UID: "7",
	}}
	for name, m := range map[string]*api.Migration{
		"of an owner":  {Spec: api.MigrationSpec{Writers: api.WritersSpec{Pause: true}}},
		"of a record":  {Status: api.MigrationStatus{PausedWriters: []api.PausedWriter{recorded}}},
		"of them both": {Spec: api.MigrationSpec{Writers: api.WritersSpec{Pause: true}}, Status: api.MigrationStatus{PausedWriters: []api.PausedWriter{recorded}}},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := world.WritersOf(t.Context(), endpointtest.Source(live), m, set)
			if err != nil || len(list) != 1 || !list[0].Found || list[0].Version != served.Version || list[0].Pause == "" {
				t.Errorf("got %#v, %v", list, err)
			}
		})
	}
}

// TestH8MarkLeadsNowhere: a tool that runs in another cluster is recognized by its mark only, and is reported as not
// found. A recorded writer that was deleted is not reported again.
func TestH8MarkLeadsNowhere(t *testing.T) {
	live := fake.NewClientBuilder().WithScheme(runtime.NewScheme()).WithRESTMapper(meta.NewDefaultRESTMapper(nil)).Build()
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Labels: map[string]string{"app.kubernetes.io/instance": "store"}}}
	gone := api.PausedWriter{WriterReference: api.WriterReference{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application", Namespace: "argocd", Name: "store", UID: "7"}}
	for name, tc := range map[string]struct {
		m    *api.Migration
		want bool
	}{
		"asked to pause":       {&api.Migration{Spec: api.MigrationSpec{Writers: api.WritersSpec{Pause: true}}}, true},
		"it was here, is gone": {&api.Migration{Spec: api.MigrationSpec{Writers: api.WritersSpec{Pause: true}}, Status: api.MigrationStatus{PausedWriters: []api.PausedWriter{gone}}}, false},
	} {
		list, err := world.WritersOf(t.Context(), endpointtest.Source(live), tc.m, set)
		if err != nil || len(list) != 1 || list[0].Found || list[0].Writes != tc.want || list[0].Path() != "Application/argocd/store" {
			t.Errorf("%s: got %+v, %v", name, list, err)
		}
	}
}
