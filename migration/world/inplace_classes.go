package world

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/utils/ptr"

	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// readClasses reads the classes that the templates and the claims of the set name, by their names.
func (r *replaced) readClasses(ctx context.Context, record plan.Record) error {
	attributes := map[string]bool{}
	for _, template := range r.templatesOfBoth() {
		attributes[ptr.Deref(template.Spec.VolumeAttributesClassName, "")] = true
	}
	return endpoint.Together(
		func() (err error) {
			r.classes.Storage, err = r.storageClasses(ctx, record)
			return err
		},
		func() (err error) {
			r.classes.Attributes, err = withNames[storagev1.VolumeAttributesClass](ctx, r.Source, attributes)
			return err
		},
	)
}

// templatesOfBoth returns the wanted and the former claim templates.
func (r *replaced) templatesOfBoth() []*corev1.PersistentVolumeClaim {
	return slices.AppendSeq(slices.Collect(maps.Values(r.wanted)), maps.Values(r.former))
}

// nameClasses lets the templates without a class name the default class as recorded at acceptance.
func (r *replaced) nameClasses() {
	for _, template := range r.templatesOfBoth() {
		volumes.NameClass(template, r.m.DefaultClass())
	}
}

// standard returns the class that a template without a class means; empty if each names one, or if there is none.
func (r *replaced) standard() string {
	lacks := slices.ContainsFunc(r.templatesOfBoth(), func(t *corev1.PersistentVolumeClaim) bool { return volumes.ClassNamed(t) == nil })
	if class := volumes.FindClass(nil, r.classes.Storage); lacks && class != nil {
		return class.Name
	}
	return r.m.DefaultClass()
}

// storageClasses reads the StorageClasses by name. The default class is only found among all of them.
func (r *replaced) storageClasses(ctx context.Context, record plan.Record) ([]storagev1.StorageClass, error) {
	names := map[string]bool{}
	for _, claim := range append(r.templatesOfBoth(), r.claimsOfSet(record)...) {
		class := volumes.ClassNamed(claim)
		if class == nil {
			return r.allStorageClasses(ctx)
		}
		names[*class] = true
	}
	return withNames[storagev1.StorageClass](ctx, r.Source, names)
}

func (r *replaced) allStorageClasses(ctx context.Context) ([]storagev1.StorageClass, error) {
	var list storagev1.StorageClassList
	if err := r.Source.Live.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("listing the StorageClasses of cluster %s: %w", r.Source.Cluster, err)
	}
	return append([]storagev1.StorageClass{}, list.Items...), nil
}

// claimsOfSet returns the claims of all ordinals that exist.
func (r *replaced) claimsOfSet(record plan.Record) []*corev1.PersistentVolumeClaim {
	var all []*corev1.PersistentVolumeClaim
	start, replicas := r.ordinals(record)
	for k := start; k < start+replicas; k++ {
		for _, template := range r.names {
			if claim := r.source.claims[plan.ClaimName(template, r.Source.Set, k)]; claim != nil {
				all = append(all, claim)
			}
		}
	}
	return all
}

// withNames reads objects of the cluster by name. Those that do not exist are left out.
func withNames[T any, P endpoint.Object[T]](ctx context.Context, at endpoint.Endpoint, names map[string]bool) ([]T, error) {
	delete(names, "")
	found, err := endpoint.GetAll[T, P](ctx, at.Live, "", slices.Sorted(maps.Keys(names)))
	all := make([]T, 0, len(found))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		all = append(all, *found[name])
	}
	return all, err
}
