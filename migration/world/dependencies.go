package world

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/dependencies"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// WayOf describes the move of copies for pods that run under a ServiceAccount.
func WayOf(sides *endpoint.Pair, account string) dependencies.Way {
	return dependencies.Way{
		From:    dependencies.Place{Namespace: sides.Source.Namespace, Set: sides.Source.Set},
		To:      dependencies.Place{Namespace: sides.Destination.Namespace, Set: sides.Destination.Set},
		Account: account,
	}
}

func (r CopyReader) wayOf(set *appsv1.StatefulSet) dependencies.Way {
	return WayOf(r.Pair, dependencies.AccountOf(set.Spec.Template.Spec))
}

// CopyReader compares the dependencies of the pods with the objects at the destination.
type CopyReader struct {
	*endpoint.Pair
	Owner types.UID
	// Policy decides which volumes may be created at the destination.
	Policy volumes.Policy
	// Withheld lists the Secrets of the source's namespace that the Migration itself uses.
	Withheld []string
}

// NewCopyReader returns a reader of the dependencies of a Migration.
func NewCopyReader(sides *endpoint.Pair, m *api.Migration, policy volumes.Policy) CopyReader {
	return CopyReader{Pair: sides, Owner: m.UID, Policy: policy, Withheld: m.OwnSecrets(sides.Source.Namespace, m.Spec.Source.KubeConfigSecretRef)}
}

// Read reads all objects that are copied, on both sides.
func (r CopyReader) Read(ctx context.Context, set *appsv1.StatefulSet, needs Needs) ([]plan.Dependency, error) {
	barred, err := r.storage(ctx, &needs)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	found := map[Named]plan.Dependency{}
	var reads []func() error
	for _, ref := range needs.References {
		if kind, _ := dependencies.KindOf(ref.Kind); !kind.Copied {
			continue
		}
		reads = append(reads, func() error {
			d, err := r.compare(ctx, set, ref, needs.Origins[namedBy(ref)])
			mu.Lock()
			defer mu.Unlock()
			found[namedBy(ref)] = d
			return err
		})
	}
	err = endpoint.Together(reads...)
	list := make([]plan.Dependency, 0, len(found))
	for _, ref := range needs.References {
		if d, copied := found[namedBy(ref)]; copied {
			if d.Storage {
				d.Barred = barred[namedBy(ref)]
			}
			list = append(list, d)
		}
	}
	return list, err
}

// compare returns the state of one dependency on both sides.
func (r CopyReader) compare(ctx context.Context, set *appsv1.StatefulSet, ref dependencies.Reference, origin *unstructured.Unstructured) (plan.Dependency, error) {
	kind, _ := dependencies.KindOf(ref.Kind)
	d := plan.Dependency{Kind: ref.Kind, Name: ref.Name, From: ref.From, Storage: kind.Storage, ClusterWide: kind.Cluster}
	version, err := r.CommonVersion(kind)
	if err != nil {
		return d, err
	}
	if version == "" {
		d.Unserved, d.Versions = true, strings.Join(kind.Versions, ", ")
	}
	if origin != nil && version != "" && origin.GroupVersionKind().Version != version {
		origin, err = r.Source.Dependency(ctx, kind, ref.Name, version)
	}
	if err != nil {
		return d, err
	}
	var there *unstructured.Unstructured
	if version != "" {
		there, err = r.Destination.Dependency(ctx, kind, ref.Name, version)
	}
	if err != nil {
		return d, err
	}
	way := r.wayOf(set)
	var wanted *unstructured.Unstructured
	if origin != nil {
		wanted = dependencies.Clean(origin, way)
		d.Origin, d.KeptBy = dependencies.Hash(wanted), keeperOf(origin)
	}
	refused := r.refused(origin, way.Account)
	if there == nil {
		d.Barred = refused
		d.SelectsOthers, err = r.stranger(ctx, origin)
		return d, err
	}
	d.Copy = r.copyOf(there, way)
	if refused.Reason != "" { // never copied, so it is not compared with the destination's own object
		d.Origin = ""
		return d, nil
	}
	if wanted != nil && d.Copy.Hash != d.Origin {
		d.Difference, d.Rigid = dependencies.Difference(dependencies.Clean(there, way.Home()), wanted), dependencies.Rigid(there, wanted)
	}
	return d, nil
}

// Made lists the copies that the migration has created.
func (r CopyReader) Made(ctx context.Context, set *appsv1.StatefulSet) ([]plan.Dependency, error) {
	way := r.wayOf(set)
	var mu sync.Mutex
	made := map[string][]plan.Dependency{}
	var reads []func() error
	for _, kind := range dependencies.Copied() {
		reads = append(reads, func() error {
			objects, err := r.Destination.Dependents(ctx, kind, client.MatchingLabels{api.OwnerLabelKey: string(r.Owner)})
			mu.Lock()
			defer mu.Unlock()
			for i := range objects {
				objects[i].SetGroupVersionKind(kind.GroupKind().WithVersion(kind.Versions[0]))
				made[kind.Name] = append(made[kind.Name], plan.Dependency{
					Kind: kind.Name, Name: objects[i].GetName(), Storage: kind.Storage, ClusterWide: kind.Cluster, Copy: r.copyOf(&objects[i], way),
				})
			}
			return err
		})
	}
	var used map[Named]string
	reads = append(reads, func() (err error) {
		used, err = usedThere(ctx, r.Destination)
		return err
	})
	err := endpoint.Together(reads...)
	var list []plan.Dependency
	for _, kind := range dependencies.Copied() {
		list = append(list, made[kind.Name]...)
	}
	for i := range list {
		list[i].Copy.UsedBy = used[Named{list[i].Kind, list[i].Name}]
	}
	return list, err
}

// again reads the stale dependencies again and keeps the others. In a rollback their origins are not read.
func (r CopyReader) again(ctx context.Context, set *appsv1.StatefulSet, known copies) ([]plan.Dependency, error) {
	list := slices.Clone(known.list)
	for i := range list {
		d := &list[i]
		if !known.stale[Named{d.Kind, d.Name}] {
			continue
		}
		var origin *unstructured.Unstructured
		var err error
		if kind, _ := dependencies.KindOf(d.Kind); !known.back {
			origin, err = r.Source.Dependency(ctx, kind, d.Name, kind.Versions...)
		}
		if err != nil {
			return nil, err
		}
		barred := d.Barred
		if *d, err = r.compare(ctx, set, dependencies.Reference{Kind: d.Kind, Name: d.Name, From: d.From}, origin); err != nil {
			return nil, err
		}
		if d.Storage {
			d.Barred = barred
		}
	}
	return list, nil
}

// staleOf returns the stale names, including those that the effect is about to write.
func staleOf(stale map[Named]bool, effect plan.Effect) map[Named]bool {
	stale = maps.Clone(stale)
	if stale == nil {
		stale = map[Named]bool{}
	}
	stale[Named{effect.Kind, effect.Name}] = true
	return stale
}
