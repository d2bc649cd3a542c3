package duel

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// side is one of the two sides: a set of one kind in its own namespace.
type side struct {
	*arena
	native    bool
	namespace string
	// set is the name of the set.
	set    string
	events *events
	// awaited are writes that the cache does not show yet.
	awaited []func(ctx context.Context) bool
	// last is the last state that was read; since is when it last changed.
	last  state
	since time.Time
	// unbound is true while its claims get no volumes.
	unbound bool
}

func newSide(a *arena, lane int, native bool, set string) *side {
	s := &side{arena: a, native: native, namespace: namespaceOf(lane, native), set: set}
	s.events = newEvents(s)
	a.enter(s)
	return s
}

func (s *side) String() string {
	if s.native {
		return "native"
	}
	return "ours"
}

func (s *side) object() client.Object {
	if s.native {
		return &appsv1.StatefulSet{}
	}
	return &sliceapi.StatefulSet{}
}

func (s *side) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: s.namespace, Name: name}
}

func (s *side) manifest(w *wish) (client.Object, error) {
	if s.native {
		return w.native(s.namespace), nil
	}
	return w.ours(s.namespace)
}

// create creates the set.
func (s *side) create(ctx context.Context, w *wish) error {
	set, err := s.manifest(w)
	if err != nil {
		return err
	}
	return s.client.Create(ctx, set)
}

// busy is the backoff for a set whose status its controller writes all the time.
var busy = wait.Backoff{Steps: 15, Duration: 10 * time.Millisecond, Factor: 1.5, Jitter: 0.5}

// write updates the set to the wish.
func (s *side) write(ctx context.Context, w *wish) error {
	return retry.RetryOnConflict(busy, func() error {
		set, err := s.manifest(w)
		if err != nil {
			return err
		}
		have := s.object()
		if err := s.client.Get(ctx, s.key(s.set), have); err != nil {
			return err
		}
		set.SetResourceVersion(have.GetResourceVersion())
		if err := s.client.Update(ctx, set); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
		generation := set.GetGeneration()
		s.await(func(ctx context.Context) bool {
			have := s.object()
			return s.cache.Get(ctx, s.key(s.set), have) == nil && have.GetGeneration() >= generation
		})
		return nil
	})
}

func (s *side) await(shown func(ctx context.Context) bool) { s.awaited = append(s.awaited, shown) }

// caughtUp reports whether the cache shows all writes.
func (s *side) caughtUp(ctx context.Context) bool {
	for len(s.awaited) > 0 && s.awaited[0](ctx) {
		s.awaited = s.awaited[1:]
	}
	return len(s.awaited) == 0
}

// pod reads an ordinal's pod; nil if there is none.
func (s *side) pod(ctx context.Context, ordinal int32) *corev1.Pod {
	pod := &corev1.Pod{}
	if s.client.Get(ctx, s.key(fmt.Sprintf("%s-%d", s.set, ordinal)), pod) != nil {
		return nil
	}
	return pod
}

// pods returns the pods in the cache that belong to this set or have its name.
func (s *side) pods(ctx context.Context) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := s.cache.List(ctx, &list, client.InNamespace(s.namespace))
	return list.Items, err
}

// provide creates a volume for each claim that lacks one.
func (s *side) provide(ctx context.Context) error {
	var claims corev1.PersistentVolumeClaimList
	if err := s.cache.List(ctx, &claims, client.InNamespace(s.namespace)); err != nil || s.unbound {
		return err
	}
	for i := range claims.Items {
		claim := &claims.Items[i]
		if claim.Status.Phase == corev1.ClaimBound || claim.DeletionTimestamp != nil {
			continue
		}
		volume := &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: "duel-" + string(claim.UID), Labels: map[string]string{"duel": s.namespace}},
			Spec: corev1.PersistentVolumeSpec{
				Capacity: claim.Spec.Resources.Requests, AccessModes: claim.Spec.AccessModes, StorageClassName: storageClass,
				PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
				ClaimRef:                      &corev1.ObjectReference{Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID},
				PersistentVolumeSource:        corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/tmp/duel"}},
			},
		}
		if err := s.client.Create(ctx, volume); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("a volume for claim %s: %w", claim.Name, err)
		}
	}
	return nil
}
