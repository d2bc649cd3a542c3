package evacuate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/flags"
	"github.com/sliceshift/sliceshift/cmd/migrate/sets"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/dependencies"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/evacuate"
	"github.com/sliceshift/sliceshift/migration/view"
	"github.com/sliceshift/sliceshift/volumes"
)

// reader reads both clusters.
type reader struct {
	*options
	source, destination *clusters.Connection
	// notes state the objects that could not be read, and the facts that are unknown for that reason.
	mu    sync.Mutex
	notes []string
	// specs are the Migrations of the sets.
	specs map[evacuate.Name]api.MigrationSpec
	// claimed are the migrations that exist already, by the set that they move.
	claimed map[evacuate.Name]records.Stored
	// underWay are the sets whose Migrations are of the Evacuation that is written again, and have begun.
	underWay map[evacuate.Name]bool
	// here identifies the source's cluster.
	here types.UID
	// nodes are those of the destination that take pods, and classes its storage classes; classesHere are those of the
	// source.
	nodes                []corev1.Node
	classes, classesHere []storagev1.StorageClass
	services             evacuate.Services
	configMaps           map[evacuate.Name]*corev1.ConfigMap
	// measured holds the times of earlier moves: with volumes that are copied, and without.
	measured map[bool]measured
}

// measured are the times of the handoffs of earlier moves.
type measured struct {
	outage volumes.Outage
	// took is the median of whole handoffs; 0: none was measured.
	took time.Duration
}

// connect connects to both clusters, which must be different ones.
func (o *options) connect(ctx context.Context) (*reader, error) {
	from, err := o.Source()
	if err != nil {
		return nil, err
	}
	to, err := o.to.Endpoint(o.Common)
	if err != nil {
		return nil, err
	}
	command.Distinguish(&from, &to)
	r := &reader{options: o, services: evacuate.Services{}, configMaps: map[evacuate.Name]*corev1.ConfigMap{}, measured: map[bool]measured{}, specs: map[evacuate.Name]api.MigrationSpec{}, claimed: map[evacuate.Name]records.Stored{}, underWay: map[evacuate.Name]bool{}}
	if r.source, err = from.Connect(nil); err != nil {
		return nil, err
	}
	if r.destination, err = to.Connect(nil); err != nil {
		return nil, err
	}
	if r.here, err = r.source.ID(ctx); err != nil {
		return nil, command.Unreachable(r.source.Name(), err)
	}
	there, err := r.destination.ID(ctx)
	if err != nil {
		return nil, command.Unreachable(r.destination.Name(), err)
	}
	if r.here == there {
		return nil, command.Usagef("%s and %s are the same cluster: an evacuation moves to another one; give --to-context or --to-kubeconfig", r.source.Name(), r.destination.Name())
	}
	return r, nil
}

// setsAtOnce is the number of sets that are checked at the same time. Each check sends several requests at once.
const setsAtOnce = 4

// inventory reads the sets, and what the destination has.
func (r *reader) inventory(ctx context.Context) (evacuate.Inventory, error) {
	i := evacuate.Inventory{Limits: r.limits}
	from := sets.Of(r.source)
	all, err := r.readSets(ctx, &from)
	if err != nil {
		return i, command.Unreachable(r.source.Name(), err)
	}
	others := func(set sets.Found) bool { return !r.labels.Matches(labels.Set(set.Labels)) }
	found := slices.DeleteFunc(slices.Clone(all), others)
	all = slices.DeleteFunc(all, func(set sets.Found) bool { return others(set) && ptr.Deref(set.Spec.Replicas, 1) == 0 })
	if err := r.expectNamed(found); err != nil {
		return i, err
	}
	if err := r.noteTemplates(found); err != nil {
		return i, err
	}
	if err := r.readSource(ctx, &from, found, all); err != nil {
		return i, command.Unreachable(r.source.Name(), err)
	}
	if i.Destination, err = r.readDestination(ctx); err != nil {
		return i, command.Unreachable(r.destination.Name(), err)
	}
	i.Sets = make([]evacuate.Set, len(found))
	reads := make([]func() error, len(found))
	for nth := range found {
		reads[nth] = func() (err error) {
			i.Sets[nth], err = r.set(ctx, found[nth])
			return err
		}
	}
	return i, endpoint.Within(setsAtOnce, reads...)
}

// readSets reads all sets of the namespaces: pods of those that are selected may use others.
func (r *reader) readSets(ctx context.Context, from *sets.Reader) (all []sets.Found, err error) {
	for _, namespace := range r.namespaces {
		some, err := from.Read(ctx, sets.Scope{Namespace: namespace, Selector: labels.Everything()})
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// expectNamed returns an error if a flag names a set that was not found: with a typing error, an order would be ignored.
func (r *reader) expectNamed(found []sets.Found) error {
	names := map[string]bool{}
	for _, set := range found {
		names[set.Name], names[client.ObjectKeyFromObject(set).String()] = true, true
	}
	for _, named := range []struct {
		flag string
		sets []string
	}{{"wave", slices.Sorted(maps.Keys(r.waves))}, {"independent", r.independent}} {
		for _, set := range named.sets {
			if !names[set] {
				return command.Usagef("--%s %s: no such StatefulSet was found among the %d that are selected; name one as [NAMESPACE/]NAME", named.flag, set, len(found))
			}
		}
	}
	return nil
}

// noteTemplates adds a note for each claim template of the flags that no set has. That is no error, because the same flags
// may serve several namespaces.
func (r *reader) noteTemplates(found []sets.Found) error {
	spec, err := r.spec.Spec("all", flags.Destination{})
	for _, v := range spec.Volumes {
		has := func(set sets.Found) bool { return slices.Contains(templatesOf(set), v.ClaimTemplate) }
		if len(found) > 0 && !slices.ContainsFunc(found, has) {
			r.note(fmt.Sprintf("no StatefulSet has claim template %s, so its flags have no effect", v.ClaimTemplate))
		}
	}
	return err
}

// readSource reads the Services, the ConfigMaps of the sets that were found, the storage classes, and the records of
// moves. The Services may select pods of any of all sets.
func (r *reader) readSource(ctx context.Context, from *sets.Reader, found, all []sets.Found) error {
	for _, namespace := range r.namespaces {
		err := each(ctx, from, &corev1.ServiceList{}, func(s *corev1.Service) { r.addService(s, all) }, client.InNamespace(namespace))
		if err := r.allowed(err, "services", r.source, "the order of the StatefulSets"); err != nil {
			return err
		}
	}
	if err := r.readConfigMaps(ctx, found); err != nil {
		return err
	}
	err := each(ctx, from, &storagev1.StorageClassList{}, func(c *storagev1.StorageClass) { r.classesHere = append(r.classesHere, *c) })
	if err := r.allowed(err, "storageclasses", r.source, "the drivers of volumes"); err != nil {
		return err
	}
	return r.readRecords(ctx)
}

// each reads a list page by page, and calls use with a copy of each object.
func each[T any, P endpoint.Object[T]](ctx context.Context, from *sets.Reader, list client.ObjectList, use func(P), options ...client.ListOption) error {
	return from.Pages(ctx, list, func(page client.ObjectList) error {
		return meta.EachListItem(page, func(object runtime.Object) error {
			if one, is := object.(P); is {
				use(P(new(*one)))
			}
			return nil
		})
	}, options...)
}

// allowed returns an error, unless a right is missing, or the kind is not served. Then it adds a note.
func (r *reader) allowed(err error, what string, in *clusters.Connection, unknown string) error {
	if !apierrors.IsForbidden(err) && !meta.IsNoMatchError(err) {
		return err
	}
	r.note(fmt.Sprintf("%s of cluster %s may not be listed, so this plan does not know %s", what, in.Name(), unknown))
	return nil
}

// note adds a note once.
func (r *reader) note(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.notes, text) {
		r.notes = append(r.notes, text)
	}
}

// addService adds the sets whose pods a Service selects.
func (r *reader) addService(service *corev1.Service, found []sets.Found) {
	name := client.ObjectKeyFromObject(service)
	r.services[name] = nil
	if len(service.Spec.Selector) == 0 {
		return
	}
	selector := labels.SelectorFromSet(service.Spec.Selector)
	for _, set := range found {
		if set.Namespace == service.Namespace && dependencies.Selects(selector, set.Name, set.Spec.Template.Labels) {
			r.services[name] = append(r.services[name], client.ObjectKeyFromObject(set))
		}
	}
}

// mapsAtOnce is the number of ConfigMaps that are read at the same time.
const mapsAtOnce = 16

// readConfigMaps reads the ConfigMaps that the pods of the sets name.
func (r *reader) readConfigMaps(ctx context.Context, found []sets.Found) error {
	names := map[string]map[string]bool{}
	for _, set := range found {
		for _, ref := range dependencies.Walk(set.Spec.Template.Spec, templatesOf(set)) {
			if ref.Kind == dependencies.ConfigMap {
				if names[set.Namespace] == nil {
					names[set.Namespace] = map[string]bool{}
				}
				names[set.Namespace][ref.Name] = true
			}
		}
	}
	for namespace, of := range names {
		for some := range slices.Chunk(slices.Sorted(maps.Keys(of)), mapsAtOnce) {
			read, err := endpoint.GetAll[corev1.ConfigMap](ctx, r.source.Live(), namespace, some)
			if err := r.allowed(err, "configmaps", r.source, "which Services they name"); err != nil {
				return err
			}
			for name, each := range read {
				r.configMaps[evacuate.Name{Namespace: namespace, Name: name}] = each
			}
		}
	}
	return nil
}

// readRecords reads the times of earlier moves, of Migrations and of the records of runs, and the moves that have not
// ended.
func (r *reader) readRecords(ctx context.Context) error {
	served, err := r.source.Serves(ctx, &api.Migration{})
	if err != nil {
		return err
	}
	all, err := records.List(served, func(list client.ObjectList, options ...client.ListOption) error {
		return r.allowed(r.source.Live().List(ctx, list, options...), "records of moves", r.source, "how long handoffs take")
	})
	if err != nil {
		return err
	}
	histories := map[bool][]*api.History{}
	took := map[bool][]time.Duration{}
	for _, m := range all {
		of := evacuate.Name{Namespace: cmp.Or(m.Spec.Source.Namespace, m.Namespace), Name: m.Spec.Source.Name}
		switch {
		case records.Completed(m.Migration) != "" || !claimsIn(r.here, m.Migration):
		case !r.creation.owns(m.Migration):
			r.claimed[of] = m
		case m.Status.Baseline != nil:
			r.underWay[of] = true
		}
		copies := slices.ContainsFunc(m.VolumesAsAccepted(), func(v api.VolumeSpec) bool { return v.Method == api.MethodCopy })
		histories[copies] = append(histories[copies], m.Status.History)
		took[copies] = append(took[copies], view.Took(m.Status.History, api.Forward)...)
	}
	for copies, of := range histories {
		known := measured{outage: volumes.OutageOfAll(of, api.Forward)}
		if len(took[copies]) > 0 {
			known.took = view.SpreadOf(took[copies]).Median
		}
		r.measured[copies] = known
	}
	return nil
}

// claimsIn reports whether the source of a Migration is, or may be, in the cluster that stores it. A kubeconfig is one of
// another cluster, as long as the Migration has not begun.
func claimsIn(here types.UID, m *api.Migration) bool {
	if base := m.Status.Baseline; base != nil {
		return base.SourceCluster == "" || base.SourceCluster == here
	}
	return m.Spec.Source.KubeConfigSecretRef == nil
}
