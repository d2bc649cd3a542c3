package world

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	toolscache "k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/clusters/slim"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/endpoint/endpointtest"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
)

// kept answers from memory, by the indexes of a view and without copying, like the cache of a view.
type kept struct {
	mu   sync.Mutex
	kind map[schema.GroupVersionKind]toolscache.Indexer
}

func keep(objects ...client.Object) *kept {
	k := &kept{kind: map[schema.GroupVersionKind]toolscache.Indexer{}}
	for _, object := range objects {
		slim.Down(object)
		_ = k.of(object).Add(object)
	}
	return k
}

func (k *kept) of(object runtime.Object) toolscache.Indexer {
	kind, err := apiutil.GVKForObject(object, testScheme)
	if err != nil {
		panic(err)
	}
	if meta.IsListType(object) {
		kind.Kind = kind.Kind[:len(kind.Kind)-len("List")]
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kind[kind] == nil {
		indexers := toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc}
		for _, index := range clusters.Indexes() {
			if of, _ := apiutil.GVKForObject(index.Object, testScheme); of == kind {
				indexers[index.Field] = func(object any) ([]string, error) {
					made, _ := object.(client.Object)
					return index.Values(made), nil
				}
			}
		}
		k.kind[kind] = toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, indexers)
	}
	return k.kind[kind]
}

// Get implements client.Reader.
func (k *kept) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	name := key.Name
	if key.Namespace != "" {
		name = key.Namespace + "/" + name
	}
	found, exists, err := k.of(object).GetByKey(name)
	if err != nil || !exists {
		return apierrors.NewNotFound(schema.GroupResource{}, name)
	}
	switch to := object.(type) {
	case *corev1.Pod:
		*to = *found.(*corev1.Pod)
	case *corev1.PersistentVolumeClaim:
		*to = *found.(*corev1.PersistentVolumeClaim)
	case *corev1.PersistentVolume:
		*to = *found.(*corev1.PersistentVolume)
	case *appsv1.StatefulSet:
		*to = *found.(*appsv1.StatefulSet)
	case *corev1.Service:
		*to = *found.(*corev1.Service)
	default:
		panic(fmt.Sprintf("%T", object))
	}
	return nil
}

// List implements client.Reader.
func (k *kept) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var options client.ListOptions
	options.ApplyOptions(opts)
	of := k.of(list)
	var found []any
	if options.FieldSelector != nil {
		requirement := options.FieldSelector.Requirements()[0]
		found, _ = of.ByIndex(requirement.Field, requirement.Value)
	} else {
		found = of.List()
	}
	objects := make([]runtime.Object, 0, len(found))
	for _, one := range found {
		object, _ := one.(client.Object)
		if options.LabelSelector == nil || options.LabelSelector.Matches(labels.Set(object.GetLabels())) {
			objects = append(objects, object)
		}
	}
	return meta.SetList(list, objects)
}

// large returns an observer of a set of n ordinals, half of which are at the destination, with the next one in a
// handoff.
func large(n int32) (*Observer, *api.Migration) {
	m := migrating()
	m.Status.Baseline = &api.Baseline{Replicas: n, Budget: 1, SourceCluster: "1", DestinationCluster: "2", SourceUID: "set", DestinationUID: "set", StartTime: metav1.NewTime(Began)}
	m.Status.Fence = &api.Fence{Epoch: 1, Direction: api.Forward}
	m.Status.Handoff = &api.Handoff{Ordinal: n/2 - 1, Step: api.StepAwaitReadiness, Volumes: []api.HandoffVolume{{ClaimTemplate: "data", Name: fmt.Sprintf("pv-%d", n/2-1)}}}
	side := func(start, end int32) *kept {
		set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "set", Annotations: map[string]string{api.FenceAnnotationKey: planner.Fence(m.UID, 1)}}}
		set.Spec.Replicas, set.Spec.ServiceName, set.Spec.Ordinals = new(end-start), "web", &appsv1.StatefulSetOrdinals{Start: start}
		set.Spec.Template.Labels = map[string]string{"app": "web"}
		set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
		budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
		budget.Spec.Selector, budget.Spec.MaxUnavailable = &metav1.LabelSelector{MatchLabels: set.Spec.Template.Labels}, new(intstr.FromInt32(0))
		objects := []client.Object{set, budget}
		for k := range n {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: plan.PodName("web", k), UID: types.UID(fmt.Sprint("pod-", k)), Labels: set.Spec.Template.Labels, OwnerReferences: []metav1.OwnerReference{{UID: set.UID, Controller: new(true)}}}}
			pod.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: plan.ClaimName("data", "web", k)}}}}
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(Began)}}
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: plan.ClaimName("data", "web", k), UID: types.UID(fmt.Sprint("claim-", k))}}
			claim.Spec.VolumeName, claim.Status.Phase = fmt.Sprintf("pv-%d", k), corev1.ClaimBound
			volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: claim.Spec.VolumeName, UID: types.UID(fmt.Sprint("volume-", k))}}
			volume.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "csi", VolumeHandle: fmt.Sprint("disk-", k)}
			volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "shop", Name: claim.Name, UID: claim.UID}
			attachment := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "va-" + volume.Name}, Spec: storagev1.VolumeAttachmentSpec{NodeName: "node"}}
			attachment.Spec.Source.PersistentVolumeName = &volume.Name
			objects = append(objects, claim, volume)
			if start <= k && k < end {
				objects = append(objects, pod, attachment)
			}
		}
		return keep(objects...)
	}
	pair := endpointtest.Pair(nil, nil)
	pair.Source.Cached, pair.Destination.Cached = side(0, n/2-1), side(n/2-1, n)
	return &Observer{
		Pair: pair, Clock: clocktesting.NewFakePassiveClock(Began.Add(time.Hour)),
		KeepsSlice: func(context.Context, plan.Snapshot, *appsv1.StatefulSet, bool) (*plan.Finding, error) {
			return nil, nil
		},
		Identify: func(context.Context, *endpoint.Endpoint) error { return nil },
	}, m
}

// crowded adds others to the namespaces of an observer: sets of ten pods with a PodDisruptionBudget each.
func crowded(o *Observer, sets int) {
	for _, at := range []client.Reader{o.Source.Cached, o.Destination.Cached} {
		view, _ := at.(*kept)
		for i := range sets {
			app := map[string]string{"app": fmt.Sprint("other-", i)}
			budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: app["app"]}}
			budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: app}
			_ = view.of(budget).Add(budget)
			for k := range int32(10) {
				pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: plan.PodName(app["app"], k), Labels: app}}
				_ = view.of(pod).Add(pod)
			}
		}
	}
}

// BenchmarkCrowd measures a pass during a handoff in a namespace with other sets.
func BenchmarkCrowd(b *testing.B) {
	for _, others := range []int{0, 10, 100} {
		b.Run(strconv.Itoa(others), func(b *testing.B) {
			o, m := large(10)
			crowded(o, others)
			b.ReportAllocs()
			for b.Loop() {
				pass(b, o, m, planner.Near(RecordOf(m)))
			}
		})
	}
}

// computed returns the CPU time of this process, which does not depend on other processes.
func computed(t testing.TB) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano())
}

// BenchmarkPass measures a pass that reads from the caches and decides: during a handoff, and over all ordinals.
func BenchmarkPass(b *testing.B) {
	for _, n := range []int32{20, 500, 5000} {
		o, m := large(n)
		for name, reads := range map[string]planner.Reads{"near": planner.Near(RecordOf(m)), "all": {}} {
			b.Run(fmt.Sprintf("%d/%s", n, name), func(b *testing.B) {
				began := computed(b)
				for b.Loop() {
					pass(b, o, m, reads)
				}
				b.ReportMetric(float64((computed(b)-began).Microseconds())/float64(b.N), "cpu-us/op")
			})
		}
	}
}

// costs returns the lowest CPU time of a pass.
func costs(t *testing.T, o *Observer, m *api.Migration, reads planner.Reads) time.Duration {
	t.Helper()
	const tries, passes = 3, 4
	best := time.Hour
	for range tries {
		began := computed(t)
		for range passes {
			pass(t, o, m, reads)
		}
		best = min(best, (computed(t)-began)/passes)
	}
	return best
}

// TestPassOfThousands: the cost of a pass over all ordinals grows linearly with their number, and a pass for one
// moving ordinal costs a small part of that.
func TestPassOfThousands(t *testing.T) {
	o, m := large(500)
	some := costs(t, o, m, planner.Reads{})
	o, m = large(5000)
	all, near := costs(t, o, m, planner.Reads{}), costs(t, o, m, planner.Near(RecordOf(m)))
	if all > 40*max(some, time.Millisecond) || near > all/2 {
		t.Errorf("500 ordinals: %s; 5,000: %s, and for one of them %s", some, all, near)
	}
}

func pass(t testing.TB, o *Observer, m *api.Migration, reads planner.Reads) {
	t.Helper()
	if s := o.Snapshot(t.Context(), m, reads); planner.Plan(s).Record == nil {
		t.Fatalf("its ordinal does not arrive: %+v", planner.Plan(s).Hold)
	}
}
