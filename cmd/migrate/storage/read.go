package storage

import (
	"context"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/sets"
	"github.com/sliceshift/sliceshift/migration/dependencies"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/volumes/drift"
	"github.com/sliceshift/sliceshift/workload"
)

// reader reads the objects of a comparison from one cluster, in pages.
type reader struct {
	sets.Reader
	cluster string
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
func (r *reader) read(ctx context.Context, of sets.Scope) (found, error) {
	all, err := r.Read(ctx, of)
	if err != nil || len(all) == 0 {
		return found{}, err
	}
	compared := make([]*statefulSet, len(all))
	for i, each := range all {
		compared[i] = &statefulSet{StatefulSet: each.StatefulSet, kind: each.Kind, grows: growsClaims(each.Object)}
	}
	if err := r.claims(ctx, of.Namespace, compared); err != nil {
		return found{}, err
	}
	if err := r.volumes(ctx, compared); err != nil {
		return found{}, err
	}
	classes, err := r.classes(ctx, compared)
	return found{compared, classes}, err
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
	return r.Pages(ctx, &corev1.PersistentVolumeClaimList{}, func(page client.ObjectList) error {
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
	ordinal, belongs := dependencies.OrdinalOf(c.Name[:at], c.Name)
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
	return allowed(r.Pages(ctx, &corev1.PersistentVolumeList{}, func(page client.ObjectList) error {
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
	served, err := r.Serves(ctx, &storagev1.VolumeAttributesClass{})
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
