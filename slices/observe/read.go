// Package observe reads a StatefulSet and its objects from the cache into the small values of package decide: pods, claims
// and revisions. It also defines the desired pod and claims of an ordinal, and interprets the status of an in-place update.
// It writes nothing.
package observe

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/history"
)

// Reader reads the objects of one StatefulSet.
type Reader struct {
	// Client reads from the cache.
	Client client.Reader
	Set    *api.StatefulSet
	Spec   decide.Spec
	// Pods are the set's pods, by ordinal.
	Pods map[int32]*corev1.Pod
	// History is the set's revisions.
	History history.Result
	// Failed is the revision whose roll-out has failed, or empty (status.failedRevision).
	Failed string
	// Inputs are the problems with the inputs of revisions.
	Inputs InputProblems
	// PrePullRefused are the pods, with the revision, for which images cannot be pulled.
	PrePullRefused map[types.UID]string
	// Served holds the pods that may have been available before, as the last pass has found.
	Served map[types.UID]bool
	// Charges are the times at which this process has charged PodDisruptionBudgets for pods.
	Charges map[types.UID]time.Time
	// Now is the time of the read.
	Now time.Time
}

// Read returns the input of Decide, and the objects that it was read from.
func (r Reader) Read(ctx context.Context) (decide.Input, Seen, error) {
	revisions, err := r.revisions(ctx)
	if err != nil {
		return decide.Input{}, Seen{}, err
	}
	objects := Seen{
		Set: r.Set, Claims: map[string]*corev1.PersistentVolumeClaim{}, Templates: revisions.templates, inputs: revisions.inputs, target: revisions.target(),
		failed: revisions.failed, minReady: r.Spec.MinReady, served: r.Served, changes: map[string]decide.Change{}, Collisions: revisions.collisions,
	}
	if err := r.readAllClaims(ctx, &objects); err != nil {
		return decide.Input{}, Seen{}, err
	}
	in := decide.Input{Spec: r.Spec, Revisions: revisions.view()}
	for ordinal, pod := range r.Pods {
		view := objects.viewPod(pod, ordinal, r.Spec.Owns(ordinal))
		revisions.merge(&view)
		if r.Spec.PrePull {
			if err := r.viewPull(ctx, objects, &view, pod); err != nil {
				return decide.Input{}, Seen{}, err
			}
		}
		if view.Priority, err = priorityOf(r.Set, pod); err != nil {
			return decide.Input{}, Seen{}, err
		}
		in.Pods = append(in.Pods, view)
	}
	r.readBudgets(ctx, &in, &objects)
	r.readDomains(ctx, &in)
	if in.Taken, err = r.takenOrdinals(ctx, objects); err != nil {
		return decide.Input{}, Seen{}, err
	}
	in.StaleClaims = objects.leavingClaims(slices.Concat(objects.Owned, in.Surges()), r.Pods)
	return in, objects, nil
}

func priorityOf(set *api.StatefulSet, pod *corev1.Pod) ([]int64, error) {
	rolling := set.Spec.UpdateStrategy.RollingUpdate
	if rolling == nil || rolling.UnorderedUpdate == nil || rolling.UnorderedUpdate.PriorityStrategy == nil {
		return nil, nil
	}
	return decide.Priority(rolling.UnorderedUpdate.PriorityStrategy, pod.Labels)
}

// readAllClaims reads the claims of the ordinals that have a pod, and of those that may get one in this pass. A pass creates
// decide.MostCreated pods, and none at an ordinal with a stale claim.
func (r Reader) readAllClaims(ctx context.Context, s *Seen) error {
	if len(r.Set.Spec.VolumeClaimTemplates) == 0 {
		return nil
	}
	lacking := r.Spec.Size()
	for ordinal := range r.Pods {
		if err := r.readClaims(ctx, ordinal, s.Claims); err != nil {
			return err
		}
		if r.Spec.Owns(ordinal) {
			s.Owned = append(s.Owned, ordinal)
			lacking--
		}
	}
	considered := int32(0)
	for ordinal := range r.Spec.All() {
		if considered > decide.MostCreated || lacking == 0 {
			break
		}
		if r.Pods[ordinal] != nil {
			continue
		}
		if err := r.readClaims(ctx, ordinal, s.Claims); err != nil {
			return err
		}
		s.Owned = append(s.Owned, ordinal)
		lacking--
		if len(s.leavingClaims([]int32{ordinal}, r.Pods)) == 0 {
			considered++
		}
	}
	slices.Sort(s.Owned)
	return nil
}

// readClaims adds the existing claims of an ordinal.
func (r Reader) readClaims(ctx context.Context, ordinal int32, claims map[string]*corev1.PersistentVolumeClaim) error {
	for i := range r.Set.Spec.VolumeClaimTemplates {
		claim, name := &corev1.PersistentVolumeClaim{}, ClaimName(r.Set.Spec.VolumeClaimTemplates[i].Name, r.Set.Name, ordinal)
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: r.Set.Namespace, Name: name}, claim)
		switch {
		case err == nil:
			claims[name] = claim
		case !apierrors.IsNotFound(err):
			return err
		}
	}
	return nil
}

// takenOrdinals returns the ordinals above the range that no surge pod may use, up to the last ordinal that a surge pod
// could need. It adds their claims to s.Claims.
func (r Reader) takenOrdinals(ctx context.Context, s Seen) (taken []int32, err error) {
	at, may := r.Spec.Above()
	if !may || len(r.Set.Spec.VolumeClaimTemplates) == 0 {
		return nil, nil
	}
	for free := int32(0); free < r.Spec.MostSurge(len(r.Pods)); at++ {
		next := r.Spec.Next(at, 1)
		if len(next) == 0 {
			break
		}
		at = int64(next[0])
		if err := r.readClaims(ctx, next[0], s.Claims); err != nil {
			return nil, err
		}
		if s.taken(next[0], r.Pods[next[0]]) {
			taken = append(taken, next[0])
		} else {
			free++
		}
	}
	return taken, nil
}
