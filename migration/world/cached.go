package world

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/migration/dependencies"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/volumes"
)

// A view finds the objects of one set by index, so that the cost of a pass depends on the size of the set and not on
// that of the namespace. Other objects are read by name.

// isView reports whether a reader supports the indexes of a view.
func (f *observed) isView(reader client.Reader) bool {
	return f.endpoint.Cached != nil && reader == f.endpoint.Cached
}

// ofSet returns options that list only objects of the set, if the reader supports that.
func (f *observed) ofSet(reader client.Reader) []client.ListOption {
	options := []client.ListOption{client.InNamespace(f.endpoint.Namespace)}
	if f.isView(reader) {
		options = append(options, client.MatchingFields{clusters.SetField: f.endpoint.Set})
	}
	return options
}

// namesVolumes reports whether volumes are read by name from a reader, and not listed.
func (f *observed) namesVolumes(reader client.Reader) bool { return f.inPlace || f.isView(reader) }

// readNamed reads the volumes of the slices by name; other readers have listed all volumes.
func (e *Observer) readNamed(ctx context.Context, source, destination *observed, sc planner.Reads) {
	if source.inPlace {
		e.ownVolumes = e.ownVolumes.readOwn(ctx, source, destination)
		return
	}
	names := namesOf(source, destination)
	for _, f := range []*observed{source, destination} {
		if f.isView(f.readerOf(sc, sc.Spared.Volumes)) {
			f.volumes = make(map[string]*corev1.PersistentVolume, len(names))
		}
	}
	for read, more := []string(nil), names; len(more) > 0; more = alsoNamed(source, destination, read) {
		both(source, destination, func(f *observed) error {
			return f.addNamed(ctx, f.readerOf(sc, sc.Spared.Volumes), more)
		})
		read = append(read, more...)
	}
}

// addNamed adds the volumes of these names from a view.
func (f *observed) addNamed(ctx context.Context, reader client.Reader, names []string) error {
	if !f.isView(reader) {
		return nil
	}
	for _, name := range names {
		volume, err := endpoint.Get[corev1.PersistentVolume](ctx, reader, client.ObjectKey{Name: name})
		if err != nil {
			return err
		}
		if volume != nil {
			f.volumes[name] = volume
		}
	}
	return nil
}

func (f *observed) listAttachments(ctx context.Context, reader client.Reader) error {
	if f.isView(reader) {
		return nil // they are read by volume, after the volumes: see readAround
	}
	var attachments storagev1.VolumeAttachmentList
	err := f.list(ctx, reader, &attachments)
	f.attached = map[string][]volumes.Attachment{}
	f.attach(attachments.Items)
	return err
}

func (f *observed) attach(attachments []storagev1.VolumeAttachment) {
	for _, a := range attachments {
		if pv := a.Spec.Source.PersistentVolumeName; pv != nil {
			f.attached[*pv] = append(f.attached[*pv], volumes.Attachment{Name: a.Name, Node: a.Spec.NodeName})
		}
	}
}

// readAround reads from the view the objects that depend on earlier reads: the attachments of the volumes, and the
// other pods that the budgets of the slice select.
func (f *observed) readAround(ctx context.Context, sc planner.Reads) error {
	if f.endpoint.Cached == nil {
		return nil
	}
	if f.attached == nil {
		if err := f.readAttached(ctx); err != nil {
			return err
		}
	}
	if f.allPods || ofVolumes(sc) {
		return nil
	}
	return f.readOthers(ctx)
}

// ofVolumes reports whether only the volumes of one ordinal are read. Other pods do not matter for them, and are read
// before the ordinal is stopped.
func ofVolumes(sc planner.Reads) bool {
	return sc.Ordinal != nil && sc.Volumes && !sc.Pods && !sc.Budgets
}

// readAttached reads the attachments of the volumes. They are read after the pods, as in readUse.
func (f *observed) readAttached(ctx context.Context) error {
	f.attached = map[string][]volumes.Attachment{}
	for name := range f.volumes {
		var attachments storagev1.VolumeAttachmentList
		if err := f.endpoint.Cached.List(ctx, &attachments, client.MatchingFields{clusters.VolumeField: name}); err != nil {
			return err
		}
		f.attach(attachments.Items)
	}
	return nil
}

// readOthers reads the pods of the namespace that do not belong to the set, and that a budget of the slice selects,
// or whose eviction it has recorded.
func (f *observed) readOthers(ctx context.Context) error {
	known := map[string]bool{}
	for i := range f.pods {
		known[f.pods[i].Name] = true
	}
	add := func(pod *corev1.Pod) {
		// The slice's own pods were read later than these.
		if _, own := dependencies.OrdinalOf(f.endpoint.Set, pod.Name); !own && !known[pod.Name] {
			known[pod.Name] = true
			f.otherPods = append(f.otherPods, *pod)
		}
	}
	members := f.members()
	for i := range f.budgets {
		selected, selector := f.selects(f.budgets[i].Spec.Selector, members)
		if !selected.any {
			continue
		}
		if err := f.selectedPods(ctx, selector, add); err != nil {
			return err
		}
		for name := range f.budgets[i].Status.DisruptedPods {
			pod, err := endpoint.Get[corev1.Pod](ctx, f.endpoint.Cached, f.endpoint.Key(name))
			if err != nil {
				return err
			}
			if pod != nil {
				add(pod)
			}
		}
	}
	return nil
}

func (f *observed) selectedPods(ctx context.Context, selector labels.Selector, add func(*corev1.Pod)) error {
	var pods corev1.PodList
	err := f.endpoint.Cached.List(ctx, &pods, client.InNamespace(f.endpoint.Namespace), client.MatchingLabelsSelector{Selector: selector})
	for i := range pods.Items {
		add(&pods.Items[i])
	}
	return err
}
