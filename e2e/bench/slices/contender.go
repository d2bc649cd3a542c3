package slices

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
)

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

// The machine is calm if its processors were almost idle for a while. An idle cluster uses about two hundredths of
// them.
const (
	calmFor  = 100 * time.Millisecond
	mostBusy = 20 * time.Millisecond
	calmWait = 10 * time.Second
)

// timed appends how long do takes, in seconds. It starts when the machine is calm. Otherwise one contender would pay
// for the remaining work of the previous one, such as the cleanup of deleted pods.
func timed(ctx context.Context, took *[]float64, do func() error) error {
	if err := calm(ctx); err != nil {
		return err
	}
	begin := time.Now()
	err := do()
	*took = append(*took, time.Since(begin).Seconds())
	return err
}

// calm waits until the machine is calm, at most for calmWait: some machines never are.
func calm(ctx context.Context) error {
	for end := time.Now().Add(calmWait); time.Now().Before(end); {
		before, err := busy()
		if err != nil {
			return err
		}
		_ = fixture.Pass(ctx, calmFor) // its end is noticed below
		after, err := busy()
		if err != nil || after-before <= mostBusy {
			return err
		}
	}
	return ctx.Err()
}

// busy returns how long all processors together have been busy since the machine started.
func busy() (time.Duration, error) {
	const path = "/proc/stat"
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(data), "\n")
	fields := strings.Fields(line)
	const kinds = 8 // proc(5): cpu, then user nice system idle iowait irq softirq steal
	if len(fields) <= kinds || fields[0] != "cpu" {
		return 0, fmt.Errorf("the first line of %s is not understood: %s", path, line)
	}
	const idle, iowait, tick = 4, 5, 10 * time.Millisecond
	var sum time.Duration
	for kind, field := range fields[1 : kinds+1] {
		if slices.Contains([]int{idle, iowait}, kind+1) {
			continue
		}
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}
		sum += time.Duration(ticks) * tick
	}
	return sum, nil
}
