package storage

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/world"
	"github.com/sliceshift/sliceshift/volumes/drift"
	"github.com/sliceshift/sliceshift/workload"
)

// reader reads the objects of a comparison from one cluster, in pages.
type reader struct {
	client.Reader
	cluster string
	scheme  *runtime.Scheme
	// serves reports whether the cluster serves a kind.
	serves func(context.Context, client.Object) (bool, error)
	// kinds are the kinds of StatefulSet that the cluster serves. They are set by read.
	kinds []schema.GroupVersionKind
}

// scope selects StatefulSets: one by its name, or all with the labels, of a namespace or of all.
type scope struct {
	namespace, name string
	selector        labels.Selector
}

// statefulSet is a StatefulSet of any kind, and its claims.
type statefulSet struct {
	*appsv1.StatefulSet
	kind workload.Kind
	// grows is true if its controller grows claims to the size of their template.
	grows  bool
	claims []claim
}

// claim is a claim of a StatefulSet.
type claim struct {
	drift.Pair
	ordinal int32
}

// found is the result of all reads.
type found struct {
	sets    []*statefulSet
	classes drift.Classes
}

// read reads the StatefulSets of a scope, with their claims, volumes and classes.
func (r *reader) read(ctx context.Context, of scope) (found, error) {
	sets, err := r.sets(ctx, of)
	if err != nil || len(sets) == 0 {
		return found{}, err
	}
	if err := r.claims(ctx, of.namespace, sets); err != nil {
		return found{}, err
	}
	if err := r.volumes(ctx, sets); err != nil {
		return found{}, err
	}
	classes, err := r.classes(ctx, sets)
	return found{sets, classes}, err
}

// pageSize is the number of objects that are read in one request.
const pageSize = 500

// pages reads a list page by page, and calls use with each page. The list is not changed.
func (r *reader) pages(ctx context.Context, list runtime.Object, use func(client.ObjectList) error, options ...client.ListOption) error {
	for next := ""; ; {
		page, is := list.DeepCopyObject().(client.ObjectList)
		if !is {
			return fmt.Errorf("%T is not a list", list)
		}
		if err := r.List(ctx, page, append(options, client.Limit(pageSize), client.Continue(next))...); err != nil {
			return err
		}
		if err := use(page); err != nil {
			return err
		}
		if next = page.GetContinue(); next == "" {
			return nil
		}
	}
}

// sets reads the StatefulSets of all kinds that the cluster serves.
func (r *reader) sets(ctx context.Context, of scope) (all []*statefulSet, err error) {
	for _, kind := range workload.All() {
		known, err := r.serves(ctx, kind.New(metav1.ObjectMeta{}))
		if err != nil {
			return nil, err
		}
		if !known {
			continue
		}
		sets, err := r.setsOf(ctx, kind, of)
		if err != nil {
			return nil, err
		}
		all = append(all, sets...)
	}
	return all, nil
}

// setsOf reads the StatefulSets of one kind.
func (r *reader) setsOf(ctx context.Context, kind workload.Kind, of scope) (all []*statefulSet, err error) {
	one := kind.New(metav1.ObjectMeta{})
	gvk, err := apiutil.GVKForObject(one, r.scheme)
	if err != nil {
		return nil, err
	}
	r.kinds = append(r.kinds, gvk)
	add := func(object runtime.Object) error {
		set, err := newSet(kind, object)
		if err == nil {
			all = append(all, set)
		}
		return err
	}
	if of.name != "" {
		err := r.Get(ctx, client.ObjectKey{Namespace: of.namespace, Name: of.name}, one)
		switch {
		case apierrors.IsNotFound(err) && !apierrors.IsUnexpectedServerError(err):
			return nil, nil
		case err != nil:
			return nil, err
		}
		err = add(one)
		return all, err
	}
	empty, err := r.scheme.New(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	if err != nil {
		return nil, err
	}
	use := func(page client.ObjectList) error { return meta.EachListItem(page, add) }
	err = r.pages(ctx, empty, use, client.InNamespace(of.namespace), client.MatchingLabelsSelector{Selector: of.selector})
	return all, err
}

// newSet returns a StatefulSet without claims.
func newSet(kind workload.Kind, object runtime.Object) (*statefulSet, error) {
	set, is := object.(client.Object)
	if !is {
		return nil, fmt.Errorf("%T is not an object", object)
	}
	converted, err := endpoint.AsSet(set)
	return &statefulSet{StatefulSet: converted, kind: kind, grows: growsClaims(set)}, err
}

// growsClaims reports whether the controller of a set grows its claims.
func growsClaims(set client.Object) bool {
	ours, is := set.(*slicesapi.StatefulSet)
	return is && ours.Spec.VolumeClaimUpdateStrategy != nil && ours.Spec.VolumeClaimUpdateStrategy.Type == slicesapi.OnPodRollingUpdate
}

// place is where a claim belongs by its name: <template>-<set>-<ordinal>.
type place struct {
	set      *statefulSet
	template *corev1.PersistentVolumeClaim
}

// claims reads the claims of the sets. Two sets may have a claim of the same name, which then belongs to both.
func (r *reader) claims(ctx context.Context, namespace string, sets []*statefulSet) error {
	places := map[client.ObjectKey][]place{}
	for _, set := range sets {
		for i := range set.Spec.VolumeClaimTemplates {
			template := &set.Spec.VolumeClaimTemplates[i]
			key := client.ObjectKey{Namespace: set.Namespace, Name: template.Name + "-" + set.Name}
			places[key] = append(places[key], place{set, template})
		}
	}
	if len(places) == 0 {
		return nil
	}
	return r.pages(ctx, &corev1.PersistentVolumeClaimList{}, func(page client.ObjectList) error {
		return meta.EachListItem(page, func(object runtime.Object) error {
			if c, is := object.(*corev1.PersistentVolumeClaim); is {
				assign(c, places)
			}
			return nil
		})
	}, client.InNamespace(namespace))
}

// assign adds a claim to the sets that it belongs to. A claim that is being deleted is left out: the next one is created
// from the template.
func assign(c *corev1.PersistentVolumeClaim, places map[client.ObjectKey][]place) {
	at := strings.LastIndex(c.Name, "-")
	if at < 0 || c.DeletionTimestamp != nil {
		return
	}
	ordinal, belongs := world.OrdinalOf(c.Name[:at], c.Name)
	if !belongs {
		return
	}
	for _, p := range places[client.ObjectKey{Namespace: c.Namespace, Name: c.Name[:at]}] {
		p.set.claims = append(p.set.claims, claim{drift.Pair{Template: p.template, Claim: c.DeepCopy()}, ordinal})
	}
}

// fewVolumes is the number of volumes up to which each is read in a request of its own.
const fewVolumes = 20

// volumes reads the volumes of the claims. Without the right to read them, claims are compared without.
func (r *reader) volumes(ctx context.Context, sets []*statefulSet) error {
	wanted := map[string][]*claim{}
	for _, set := range sets {
		for i := range set.claims {
			if name := set.claims[i].Claim.Spec.VolumeName; name != "" {
				wanted[name] = append(wanted[name], &set.claims[i])
			}
		}
	}
	give := func(volume *corev1.PersistentVolume) {
		for _, c := range wanted[volume.Name] {
			c.Volume = volume
		}
	}
	if len(wanted) <= fewVolumes {
		few, err := endpoint.GetAll[corev1.PersistentVolume](ctx, r.Reader, "", slices.Collect(maps.Keys(wanted)))
		for _, volume := range few {
			give(volume)
		}
		return allowed(err)
	}
	return allowed(r.pages(ctx, &corev1.PersistentVolumeList{}, func(page client.ObjectList) error {
		return meta.EachListItem(page, func(object runtime.Object) error {
			if volume, is := object.(*corev1.PersistentVolume); is && wanted[volume.Name] != nil {
				give(volume.DeepCopy())
			}
			return nil
		})
	}))
}

// allowed returns an error, unless a right is missing.
func allowed(err error) error {
	if apierrors.IsForbidden(err) {
		return nil
	}
	return err
}

// classes reads the StorageClasses, and the VolumeAttributesClasses if a template names one. A list that may not be read, or
// is not served, stays nil.
func (r *reader) classes(ctx context.Context, sets []*statefulSet) (drift.Classes, error) {
	var classes drift.Classes
	var storage storagev1.StorageClassList
	err := r.List(ctx, &storage)
	if err == nil {
		classes.Storage = append([]storagev1.StorageClass{}, storage.Items...)
	}
	if err := allowed(err); err != nil || !namesAttributes(sets) {
		return classes, err
	}
	served, err := r.serves(ctx, &storagev1.VolumeAttributesClass{})
	if err != nil || !served {
		return classes, err
	}
	var attributes storagev1.VolumeAttributesClassList
	if err = r.List(ctx, &attributes); err == nil {
		classes.Attributes = append([]storagev1.VolumeAttributesClass{}, attributes.Items...)
	}
	return classes, allowed(err)
}

// namesAttributes reports whether a claim template names a VolumeAttributesClass.
func namesAttributes(sets []*statefulSet) bool {
	for _, set := range sets {
		for i := range set.Spec.VolumeClaimTemplates {
			if name := set.Spec.VolumeClaimTemplates[i].Spec.VolumeAttributesClassName; name != nil && *name != "" {
				return true
			}
		}
	}
	return false
}
