package migration

import (
	"context"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/migration/plan"
)

// readLive replaces what the caches say by what the API servers say now, as far as
// the scope asks for it. Pods are read after both StatefulSets: one that was absent
// before its controller was seen to have let go of it may have come and gone since.
// Before a stop, which waits for no pod to be gone, they may be listed before (see ahead).
// For the same reason what attaches a volume is read after the pods, where volumes
// can be attached.
func readLive(ctx context.Context, source, destination *found, sc plan.Reads) {
	both(source, destination, func(f *found) error {
		reads := []func() error{func() error { return f.readSet(ctx, f.place.live) }}
		if sc.Budgets {
			reads = append(reads, func() error { return f.readBudgets(ctx) })
		}
		return together(reads...)
	})
	if sc.Ordinal == nil {
		return
	}
	templates := claimTemplates(source.set)
	both(source, destination, func(f *found) error {
		if !sc.Volumes || f.place.cached == nil {
			return nil
		}
		return f.readClaims(ctx, f.place.cached, templates, *sc.Ordinal)
	})
	expected := namesOf(source, destination)
	both(source, destination, func(f *found) error {
		var reads []func() error
		if sc.Pods {
			reads = append(reads, func() error { return f.readPods(ctx, sc, templates) })
		}
		if sc.Volumes {
			reads = append(reads,
				func() error { return f.readClaims(ctx, f.place.live, templates, *sc.Ordinal) },
				func() error { return f.readVolumes(ctx, expected) })
		}
		return together(reads...)
	})
	if !sc.Volumes {
		return
	}
	if names := namesOf(source, destination); !slices.Equal(names, expected) {
		both(source, destination, func(f *found) error { return f.readVolumes(ctx, names) })
	}
	if sc.Next != nil {
		both(source, destination, func(f *found) error { return f.addCached(ctx, templates, *sc.Next) })
	}
	both(source, destination, func(f *found) error {
		if sc.Pods && f.attachable() {
			return f.listAttachments(ctx, f.place.live)
		}
		return nil
	})
}

// namesOf are the volumes that the claims of these sides name, and those that were recorded.
func namesOf(sides ...*found) []string {
	names := map[string]bool{}
	for _, f := range sides {
		for _, claim := range f.claims {
			names[claim.Spec.VolumeName] = true
		}
		for _, name := range f.recorded {
			names[name] = true
		}
	}
	delete(names, "")
	return slices.Sorted(maps.Keys(names))
}

// readPods replaces the pods by what the API server says now, as far as the scope asks for
// it. What may be late says nothing about the ordinal's own pod, which is read besides.
func (f *found) readPods(ctx context.Context, sc plan.Reads, templates []string) error {
	if sc.Gate {
		pods, err := f.listing.pods(ctx)
		f.pods = pods
		return err
	}
	left := sc.Left != "" && sc.Left == f.place.side
	if left && !f.listing.shows(ctx, *sc.Ordinal, templates) {
		return f.listPods(ctx, f.place.live)
	}
	if sc.Users && !left {
		if err := f.listPods(ctx, f.place.live, notOlderThan(f.pods)); err != nil {
			return err
		}
	}
	return f.readPod(ctx, *sc.Ordinal)
}

// notOlderThan asks an API server for a list from its watch cache, at least as new as these
// pods. It does not wait: one that is exactly fresh waits until the cache has heard of
// everything that was written before, of whatever kind (see plan.Reads).
func notOlderThan(pods []corev1.Pod) client.ListOption {
	newest := "0"
	for i := range pods {
		version := pods[i].ResourceVersion
		if order, err := resourceversion.CompareResourceVersion(version, newest); newest == "0" || err == nil && order > 0 {
			newest = version
		}
	}
	return &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: newest, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}}
}

// readPod replaces the ordinal's pod by what the API server says now.
func (f *found) readPod(ctx context.Context, ordinal int32) error {
	name := plan.PodName(f.place.set, ordinal)
	pod, err := get[corev1.Pod](ctx, f.place.live, f.place.key(name))
	f.pods = slices.DeleteFunc(slices.Clone(f.pods), func(p corev1.Pod) bool { return p.Name == name })
	if pod != nil {
		f.pods = append(f.pods, *pod)
	}
	return err
}

// readBudgets replaces each known budget by what the API server says now.
func (f *found) readBudgets(ctx context.Context) error {
	known := f.budgets
	f.budgets = nil
	for i := range known {
		budget, err := get[policyv1.PodDisruptionBudget](ctx, f.place.live, f.place.key(known[i].Name))
		if err != nil {
			return err
		}
		if budget != nil {
			f.budgets = append(f.budgets, *budget)
		}
	}
	return nil
}

func (f *found) readClaims(ctx context.Context, reader client.Reader, templates []string, ordinal int32) error {
	names := make([]string, 0, len(templates))
	for _, template := range templates {
		names = append(names, plan.ClaimName(template, f.place.set, ordinal))
	}
	claims, err := getAll[corev1.PersistentVolumeClaim](ctx, reader, f.place.namespace, names)
	f.claims = claims
	return err
}

// addCached adds the claims of one more ordinal, and the volumes that they name, as the caches
// have them.
func (f *found) addCached(ctx context.Context, templates []string, ordinal int32) error {
	if f.place.cached == nil {
		return nil
	}
	more := &found{place: f.place}
	if err := more.readClaims(ctx, f.place.cached, templates, ordinal); err != nil {
		return err
	}
	named, err := getAll[corev1.PersistentVolume](ctx, f.place.cached, "", namesOf(more))
	maps.Copy(f.claims, more.claims)
	maps.Copy(f.volumes, named)
	return err
}

func (f *found) readVolumes(ctx context.Context, names []string) error {
	volumes, err := getAll[corev1.PersistentVolume](ctx, f.place.live, "", names)
	f.volumes = volumes
	return err
}

// getAll reads objects by name, at the same time; those that do not exist are left out.
func getAll[T any, P object[T]](ctx context.Context, reader client.Reader, namespace string, names []string) (map[string]*T, error) {
	var mu sync.Mutex
	found := make(map[string]*T, len(names))
	reads := make([]func() error, 0, len(names))
	for _, name := range names {
		reads = append(reads, func() error {
			value, err := get[T, P](ctx, reader, client.ObjectKey{Namespace: namespace, Name: name})
			if value != nil {
				mu.Lock()
				defer mu.Unlock()
				found[name] = value
			}
			return err
		})
	}
	return found, together(reads...)
}

// attachable says whether one of the volumes is of a kind that VolumeAttachments
// exist for: all but those that a node reaches by a path or over the network alone.
func (f *found) attachable() bool {
	for _, volume := range f.volumes {
		if source := volume.Spec.PersistentVolumeSource; source.HostPath == nil && source.Local == nil && source.NFS == nil {
			return true
		}
	}
	return false
}
