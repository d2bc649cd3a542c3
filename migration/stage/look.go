package stage

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/migration/dependencies"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/rehearsal"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/snapshot/manifest"
)

// Look reads everything on which the next step depends, from the API servers, and connects the movers that have met.
func (s *Stage) Look(ctx context.Context, r rehearsal.Record) (rehearsal.Facts, error) {
	f := rehearsal.Facts{Now: s.Clock.Now(), Ask: s.ask, Record: r}
	at := s.Pair.Destination
	var err error
	if f.Namespace, _, err = get[corev1.Namespace](ctx, at, r, volumes.Ref{Name: at.Namespace}); err != nil {
		return f, err
	}
	if f.Admission, err = s.admission(ctx, f.Namespace); err != nil {
		return f, err
	}
	reads := []func() error{func() (err error) { f.Left, err = s.left(ctx, r, f.Admission.Allowed); return err }}
	inside := []func() error{
		func() (err error) { f.Control, err = s.probe(ctx, r, controlName); return err },
		func() (err error) { f.Proof, err = s.probe(ctx, r, proofName); return err },
		func() (err error) { f.Policy, err = s.policies(ctx, r); return err },
		func() (err error) { f.Copies, err = s.copies(ctx, r); return err },
		func() (err error) { f.Clones, err = s.clones(ctx, r); return err },
		func() (err error) { f.Set, err = s.rehearsed(ctx, r); return err },
		func() (err error) { f.Pods, err = s.pods(ctx, r); return err },
	}
	if f.Admission.Allowed {
		reads = append(reads, inside...)
	}
	if err := endpoint.Together(reads...); err != nil {
		return f, err
	}
	s.connect(f)
	if s.allReady(f) && r.Result == nil && r.End == nil {
		f.Gates = s.askGates(ctx, r, f.Pods)
		f.Origin, err = s.origin(ctx, r)
	}
	return f, err
}

// allReady reports whether the gates are asked.
func (s *Stage) allReady(f rehearsal.Facts) bool {
	return len(f.Pods) > 0 && len(f.Pods) == int(s.ask.Replicas) && !slices.ContainsFunc(f.Pods, func(p rehearsal.Pod) bool { return !p.IsReady })
}

// policyKind is the kind of NetworkPolicies, which the clients do not know as a Go type.
var policyKind = networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy")

// policies reads the NetworkPolicies of the namespace.
func (s *Stage) policies(ctx context.Context, r rehearsal.Record) (rehearsal.Policy, error) {
	at := s.Pair.Destination
	p := rehearsal.Policy{Object: rehearsal.Object{Ref: volumes.Ref{Namespace: at.Namespace, Name: policyName}}}
	list, err := s.list(ctx, at, policyKind, client.InNamespace(at.Namespace))
	for i := range list {
		found := &list[i]
		if found.GetName() != policyName || !marked(found, r) {
			p.Others = append(p.Others, found.GetName())
			continue
		}
		p.Object, p.Generation = objectOf(at, found, r, p.Ref), found.GetGeneration()
	}
	return p, err
}

// list lists objects of a kind that the clients do not know as a Go type. A kind that is not served has none.
func (s *Stage) list(ctx context.Context, at endpoint.Endpoint, kind schema.GroupVersionKind, options ...client.ListOption) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	err := at.Live.List(ctx, list, options...)
	if unserved(err) {
		return nil, nil
	}
	for i := range list.Items {
		list.Items[i].SetGroupVersionKind(kind)
	}
	return list.Items, err
}

// object reads an object of a kind that the clients do not know as a Go type; nil if it does not exist.
func (s *Stage) object(ctx context.Context, at endpoint.Endpoint, kind schema.GroupVersionKind, ref volumes.Ref) (*unstructured.Unstructured, error) {
	object := manifest.Empty(kind, volumes.Ref{})
	err := at.Live.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, object)
	if absent(err) {
		return nil, nil
	}
	return object, err
}

// copies reads the objects that the pods need.
func (s *Stage) copies(ctx context.Context, r rehearsal.Record) ([]rehearsal.Object, error) {
	at, all := s.Pair.Destination, make([]rehearsal.Object, len(s.ask.Copies))
	for i, named := range s.ask.Copies {
		kind, _ := dependencies.KindOf(named.Kind)
		found, err := at.Dependency(ctx, kind, named.Name, kind.Versions...)
		if err != nil {
			return nil, err
		}
		all[i] = objectOf(at, found, r, volumes.Ref{Namespace: at.Namespace, Name: named.Name})
	}
	return all, nil
}

// rehearsed reads the StatefulSet of the rehearsal.
func (s *Stage) rehearsed(ctx context.Context, r rehearsal.Record) (rehearsal.Object, error) {
	at := s.Pair.Destination
	set, err := at.GetSet(ctx, at.Live)
	return objectOf(at, set, r, volumes.Ref{Namespace: at.Namespace, Name: at.Set}), err
}

// clones reads the objects of each clone.
func (s *Stage) clones(ctx context.Context, r rehearsal.Record) ([]rehearsal.Clone, error) {
	if len(s.ask.Clones) == 0 {
		return nil, nil
	}
	volumesThere, err := s.volumes(ctx)
	if err != nil {
		return nil, err
	}
	all, reads := make([]rehearsal.Clone, len(s.ask.Clones)), make([]func() error, len(s.ask.Clones))
	for i, asked := range s.ask.Clones {
		reads[i] = func() (err error) {
			all[i], err = s.clone(ctx, r, asked, volumesThere)
			return err
		}
	}
	return all, endpoint.Together(reads...)
}

func (s *Stage) clone(ctx context.Context, r rehearsal.Record, asked rehearsal.ClonePlan, there []corev1.PersistentVolume) (c rehearsal.Clone, err error) {
	from, to := s.Pair.Source, s.Pair.Destination
	c.TakenRef = volumes.Ref{Namespace: from.Namespace, Name: snapshotName("taken", r, asked.From)}
	c.ImportRef = volumes.Ref{Namespace: to.Namespace, Name: snapshotName("import", r, asked.From)}
	switch {
	case asked.Empty:
	case asked.Copied:
		c.Pair, err = s.pair(ctx, r, asked)
	default:
		err = s.snapshots(ctx, r, &c)
	}
	if err != nil {
		return c, err
	}
	var claim *corev1.PersistentVolumeClaim
	if c.Claim, claim, err = get[corev1.PersistentVolumeClaim](ctx, to, r, asked.To); err != nil {
		return c, err
	}
	for i := range there {
		v := &there[i]
		if free := v.Status.Phase == corev1.VolumeAvailable && v.Spec.ClaimRef == nil && volumes.ClassOf(v) == asked.StorageClass; free {
			c.Occupied = v.Name
		}
		if claim != nil && claim.Spec.VolumeName == v.Name && claim.Status.Phase == corev1.ClaimBound {
			c.Volume = s.volumeOf(v, r, []volumes.Ref{c.Claim.Ref})
		}
	}
	if claim != nil {
		c.Source = manifest.SourceOf(claim)
	}
	return c, nil
}

// snapshots reads the snapshot of a clone and its import.
func (s *Stage) snapshots(ctx context.Context, r rehearsal.Record, c *rehearsal.Clone) (err error) {
	if c.Taken, err = s.snapshot(ctx, s.Pair.Source, r, c.TakenRef, ""); err != nil {
		return err
	}
	c.Import, err = s.snapshot(ctx, s.Pair.Destination, r, c.ImportRef, c.ImportRef.Name)
	return err
}

// snapshot reads a VolumeSnapshot and its content, which is known by its name or by the VolumeSnapshot's status.
func (s *Stage) snapshot(ctx context.Context, at endpoint.Endpoint, r rehearsal.Record, ref volumes.Ref, content string) (volumes.Snapshot, error) {
	found, err := s.object(ctx, at, manifest.SnapshotKind, ref)
	if err != nil {
		return volumes.Snapshot{}, err
	}
	view := manifest.ViewSnapshot(found, r.ID)
	if found != nil {
		view.Ours = marked(found, r)
	}
	if content == "" {
		content = manifest.ContentOf(found)
	}
	if content == "" {
		return view, nil
	}
	object, err := s.object(ctx, at, manifest.ContentKind, volumes.Ref{Name: content})
	if err != nil {
		return view, err
	}
	view.Content = manifest.ViewContent(object, r.ID)
	if object != nil {
		view.Content.Ours = marked(object, r)
	}
	return view, nil
}

// volumes lists the volumes of the destination's cluster.
func (s *Stage) volumes(ctx context.Context) ([]corev1.PersistentVolume, error) {
	var list corev1.PersistentVolumeList
	err := s.Pair.Destination.Live.List(ctx, &list)
	return list.Items, err
}

// volumeOf returns the state of a volume that is bound to a claim of the namespace. claims are those that exist.
func (s *Stage) volumeOf(v *corev1.PersistentVolume, r rehearsal.Record, claims []volumes.Ref) rehearsal.Volume {
	view := volumes.ViewVolume(v, r.ID)
	driver, _ := volumes.DriverOf(view.Handle)
	found := rehearsal.Volume{
		Object: objectOf(s.Pair.Destination, v, r, volumes.Ref{Name: v.Name}), Claim: view.ClaimRef, Chosen: view.Chosen, Driver: driver,
		Deletes: view.Policy == corev1.PersistentVolumeReclaimDelete,
	}
	// A claimRef with a UID was written by the binder or the provisioner. Without one a user has reserved the volume.
	found.Ours = view.ClaimRef.UID != "" || slices.ContainsFunc(claims, view.ClaimRef.Names)
	return found
}
