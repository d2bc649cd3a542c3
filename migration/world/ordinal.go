package world

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
)

// readLive replaces cached objects by reads from the API servers, as far as the scope requires. Pods are read after
// both StatefulSets: a pod that was absent while its controller still owned the ordinal may have been created since.
// Before a stop, which does not wait for a pod's deletion, they may be listed earlier (see ahead). For the same
// reason attachments are read after the pods, for volumes that have any.
func readLive(ctx context.Context, source, destination *observed, sc planner.Reads) {
	both(source, destination, func(f *observed) error {
		var reads []func() error
		if !f.spares(sc.Spared.Sets) {
			reads = append(reads, func() error { return f.readSet(ctx, f.endpoint.Live) })
		}
		if sc.Budgets && !f.spares(sc.Spared.Budgets) {
			others, ours := f.concerned() // computed before the StatefulSet is read, which changes the selection
			reads = append(reads, func() error {
				if sc.Gate { // a budget that was created just now also limits a stop
					return f.listBudgets(ctx, f.endpoint.Live)
				}
				return f.readBudgets(ctx, others, ours)
			})
		}
		return endpoint.Together(reads...)
	})
	if sc.Ordinal == nil {
		return
	}
	templates := ClaimTemplates(source.set)
	both(source, destination, func(f *observed) error {
		if !sc.Volumes || f.endpoint.Cached == nil {
			return nil
		}
		return f.readClaims(ctx, f.endpoint.Cached, templates, *sc.Ordinal)
	})
	expected := namesOf(source, destination)
	both(source, destination, func(f *observed) error {
		var reads []func() error
		if sc.Pods {
			reads = append(reads, func() error { return f.readPods(ctx, sc, templates) })
		}
		if sc.Volumes {
			reads = append(reads, func() error { return f.readVolumes(ctx, sc, expected) })
			if !f.spares(sc.Spared.Claims) {
				reads = append(reads, func() error { return f.readClaims(ctx, f.endpoint.Live, templates, *sc.Ordinal) })
			}
		}
		return endpoint.Together(reads...)
	})
	if !sc.Volumes {
		return
	}
	names := namesOf(source, destination)
	if !slices.Equal(names, expected) {
		both(source, destination, func(f *observed) error { return f.readVolumes(ctx, sc, names) })
	}
	for range mostNames { // bounded, because a cluster might return a new name with every read
		more := alsoNamed(source, destination, names)
		if len(more) == 0 {
			break
		}
		names = append(names, more...)
		both(source, destination, func(f *observed) error { return f.readVolumes(ctx, sc, names) })
	}
	if sc.Next != nil {
		both(source, destination, func(f *observed) error { return f.addCached(ctx, templates, *sc.Next) })
	}
	both(source, destination, func(f *observed) error { return f.readCopies(ctx) })
	readTwins(ctx, source, destination)
	both(source, destination, func(f *observed) error {
		if sc.Pods && (!f.spares(sc.Spared.Pods) || sc.Left == f.endpoint.Side) && f.attachable() {
			return f.listAttachments(ctx, f.endpoint.Live)
		}
		return nil
	})
}

// spares reports whether a kind of object is read from the cache of this side, if it has one.
func (f *observed) spares(sides planner.Sides) bool {
	return f.endpoint.Cached != nil && sides.Has(f.endpoint.Side)
}

// namesOf returns the names of the volumes that the claims of these sides reference, and of the recorded ones.
func namesOf(sides ...*observed) []string {
	names := map[string]bool{}
	for _, f := range sides {
		for _, claim := range f.claims {
			names[claim.Spec.VolumeName] = true
		}
		for _, recorded := range f.recorded {
			names[recorded.Name] = true
		}
	}
	delete(names, "")
	return slices.Sorted(maps.Keys(names))
}

// readPods replaces the pods by a read from the API server, as far as the scope requires. A list that may be outdated
// is not used for the ordinal's own pod, which is read separately.
func (f *observed) readPods(ctx context.Context, sc planner.Reads, templates []string) error {
	if sc.Gate {
		pods, err := f.listing.pods(ctx)
		f.pods = pods
		return err
	}
	left, spared := sc.Left != "" && sc.Left == f.endpoint.Side, f.spares(sc.Spared.Pods)
	if left && !f.listing.shows(ctx, *sc.Ordinal, templates) {
		return f.listPods(ctx, f.endpoint.Live)
	}
	f.noneLeft = left
	if sc.Users && !left {
		if err := f.listPods(ctx, f.endpoint.Live, notOlderThan(f.pods)); err != nil {
			return err
		}
	}
	if spared {
		return nil
	}
	return f.readPod(ctx, *sc.Ordinal)
}

// notOlderThan makes the API server list from its watch cache, at a version at least as new as these pods, without
// waiting. A consistent list would wait until the cache has received all earlier writes of any kind (see
// planner.Reads).
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

// readPod replaces the ordinal's pod by a read from the API server.
func (f *observed) readPod(ctx context.Context, ordinal int32) error {
	name := plan.PodName(f.endpoint.Set, ordinal)
	pod, err := endpoint.Get[corev1.Pod](ctx, f.endpoint.Live, f.endpoint.Key(name))
	f.pods = slices.DeleteFunc(slices.Clone(f.pods), func(p corev1.Pod) bool { return p.Name == name })
	if pod != nil {
		f.pods = append(f.pods, *pod)
	}
	return err
}

// readAlone replaces the pod, the claims and the volumes of the ordinal in flight, which are read with all others, by reads of
// their own.
func (f *observed) readAlone(ctx context.Context, handoff api.Handoff) error {
	if err := f.readPod(ctx, handoff.Ordinal); err != nil {
		return err
	}
	own := &observed{endpoint: f.endpoint, recorded: handoff.Volumes}
	var templates []string
	for _, v := range handoff.Volumes {
		templates = append(templates, v.ClaimTemplate)
	}
	if err := own.readClaims(ctx, f.endpoint.Live, templates, handoff.Ordinal); err != nil {
		return err
	}
	for _, template := range templates {
		delete(f.claims, plan.ClaimName(template, f.endpoint.Set, handoff.Ordinal))
	}
	maps.Copy(f.claims, own.claims)
	names := namesOf(own)
	volumes, err := endpoint.GetAll[corev1.PersistentVolume](ctx, f.endpoint.Live, "", names)
	for _, name := range names {
		delete(f.volumes, name)
	}
	maps.Copy(f.volumes, volumes)
	return err
}

// readBudgets replaces each of the slice's budgets by a read from the API server. Budgets that select only other pods
// are not read, because they do not matter.
func (f *observed) readBudgets(ctx context.Context, others []policyv1.PodDisruptionBudget, ours []string) error {
	f.budgets = others
	for _, name := range ours {
		budget, err := endpoint.Get[policyv1.PodDisruptionBudget](ctx, f.endpoint.Live, f.endpoint.Key(name))
		if err != nil {
			return err
		}
		if budget != nil {
			f.budgets = append(f.budgets, *budget)
		}
	}
	return nil
}

// concerned returns the known budgets that select only other pods, and the names of those that may select the
// slice's. If the slice's pods are not known yet, that is any budget.
func (f *observed) concerned() (others []policyv1.PodDisruptionBudget, ours []string) {
	members := f.members()
	for i := range f.budgets {
		if selected, _ := f.selects(f.budgets[i].Spec.Selector, members); selected.any || f.set == nil {
			ours = append(ours, f.budgets[i].Name)
		} else {
			others = append(others, f.budgets[i])
		}
	}
	return others, ours
}

func (f *observed) readClaims(ctx context.Context, reader client.Reader, templates []string, ordinal int32) error {
	names := make([]string, 0, len(templates))
	for _, template := range templates {
		names = append(names, plan.ClaimName(template, f.endpoint.Set, ordinal))
	}
	claims, err := endpoint.GetAll[corev1.PersistentVolumeClaim](ctx, reader, f.endpoint.Namespace, names)
	f.claims = claims
	return err
}

// addCached adds the claims of another ordinal, and their volumes, from the caches.
func (f *observed) addCached(ctx context.Context, templates []string, ordinal int32) error {
	if f.endpoint.Cached == nil {
		return nil
	}
	more := &observed{endpoint: f.endpoint}
	if err := more.readClaims(ctx, f.endpoint.Cached, templates, ordinal); err != nil {
		return err
	}
	named, err := endpoint.GetAll[corev1.PersistentVolume](ctx, f.endpoint.Cached, "", namesOf(more))
	maps.Copy(f.claims, more.claims)
	maps.Copy(f.volumes, named)
	return err
}

func (f *observed) readVolumes(ctx context.Context, sc planner.Reads, names []string) error {
	var reader client.Reader = f.endpoint.Live
	if f.spares(sc.Spared.Volumes) {
		reader = f.endpoint.Cached
	}
	volumes, err := endpoint.GetAll[corev1.PersistentVolume](ctx, reader, "", names)
	f.volumes = volumes
	return err
}

// attachable reports whether one of the volumes is of a kind with VolumeAttachments: any kind but hostPath, local and
// network file systems.
func (f *observed) attachable() bool {
	for _, volume := range f.volumes {
		if source := volume.Spec.PersistentVolumeSource; source.HostPath == nil && source.Local == nil && source.NFS == nil {
			return true
		}
	}
	return false
}
