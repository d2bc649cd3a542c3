package slices

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slicesapi "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

func addDefinitions(scheme *runtime.Scheme) error { return apiextensionsv1.AddToScheme(scheme) }

// contender is a kind of StatefulSet.
type contender struct {
	name, version string
	// tells is the terminationReasonPolicy; empty is the default.
	tells slicesapi.TerminationReasonPolicy
}

var (
	ours   = contender{name: "ours", version: slicesapi.GroupVersion.String()}
	never  = contender{name: "ours-never", version: ours.version, tells: slicesapi.AnnounceNever}
	native = contender{name: "native", version: appsv1.SchemeGroupVersion.String()}
)

var contenders = []contender{ours, native, never}

// operationLimit bounds one operation.
const operationLimit = 5 * time.Minute

// subject is one StatefulSet of a contender.
type subject struct {
	*bench
	contender
	key client.ObjectKey
}

func (s subject) object() *unstructured.Unstructured {
	set := &unstructured.Unstructured{}
	set.SetAPIVersion(s.version)
	set.SetKind("StatefulSet")
	set.SetNamespace(s.key.Namespace)
	set.SetName(s.key.Name)
	return set
}

// create creates the set and waits until all its pods are available.
func (s subject) create(ctx context.Context, replicas int32, policy appsv1.PodManagementPolicyType) error {
	if err := s.make(ctx, replicas, policy); err != nil {
		return err
	}
	return s.complete(ctx, int64(replicas))
}

func (s subject) make(ctx context.Context, replicas int32, policy appsv1.PodManagementPolicyType) error {
	labels := map[string]string{"app": s.key.Name}
	spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&appsv1.StatefulSetSpec{
		Replicas: &replicas, ServiceName: s.key.Name, PodManagementPolicy: policy, Selector: &metav1.LabelSelector{MatchLabels: labels},
		UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app:1"}}},
		},
	})
	if err != nil {
		return err
	}
	set := s.object()
	if s.tells != "" {
		spec["terminationReasonPolicy"] = string(s.tells)
	}
	set.Object["spec"] = spec
	return s.client.Create(ctx, set)
}

// patch changes the set and waits until the change is complete.
func (s subject) patch(ctx context.Context, patch string, replicas int64) error {
	if err := s.client.Patch(ctx, s.object(), client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		return err
	}
	return s.complete(ctx, replicas)
}

// complete waits until all pods are available and have the update revision.
func (s subject) complete(ctx context.Context, replicas int64) error {
	ctx, cancel := context.WithTimeout(ctx, operationLimit)
	defer cancel()
	watcher := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list := s.list()
			return list, s.client.List(ctx, list, s.only(), &client.ListOptions{Raw: &options})
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return s.client.Watch(ctx, s.list(), s.only(), &client.ListOptions{Raw: &options})
		},
	}
	_, err := watchtools.UntilWithSync(ctx, watcher, &unstructured.Unstructured{}, nil, func(event watch.Event) (bool, error) {
		set, is := event.Object.(*unstructured.Unstructured)
		return is && isComplete(set, replicas), nil
	})
	if err != nil {
		return fmt.Errorf("%s %s: %w", s.version, s.key, err)
	}
	return nil
}

func (s subject) list() *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(s.version)
	list.SetKind("StatefulSetList")
	return list
}

// only selects this set.
func (s subject) only() client.ListOption {
	return &client.ListOptions{Namespace: s.key.Namespace, FieldSelector: fields.OneTermEqualSelector("metadata.name", s.key.Name)}
}

func isComplete(set *unstructured.Unstructured, replicas int64) bool {
	status := func(field string) int64 {
		value, _, _ := unstructured.NestedInt64(set.Object, "status", field)
		return value
	}
	text := func(field string) string {
		value, _, _ := unstructured.NestedString(set.Object, "status", field)
		return value
	}
	return status("observedGeneration") == set.GetGeneration() && status("replicas") == replicas &&
		status("availableReplicas") == replicas && (replicas == 0 || status("updatedReplicas") == replicas && text("currentRevision") == text("updateRevision"))
}
