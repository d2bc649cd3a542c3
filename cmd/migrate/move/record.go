package move

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/flags"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/preview"
	"github.com/sliceshift/sliceshift/internal/records"
)

// resolve merges the flags with the record. The result is the migration to continue. Its status is empty if the move is
// to begin.
func (t *task) resolve(ctx context.Context) (*api.Migration, preview.Standing, error) {
	if t.recorded == nil && t.resume != "" {
		m, err := t.rebuild(ctx)
		return m, preview.Underway, err
	}
	if t.recorded == nil {
		return t.requested, preview.Beginning, nil
	}
	m := t.recorded.DeepCopy()
	if err := verifySource(t.store, t.kubectl(), m); err != nil {
		return nil, "", err
	}
	completed := records.Completed(m)
	if completed == api.ReasonMoved && t.requested.Spec.Storage == nil {
		back, err := t.isBack(ctx, m)
		if err != nil {
			return nil, "", err
		}
		if !back {
			if different := t.differences(); len(different) > 0 {
				return nil, "", t.refuse("an earlier move of it is completed and recorded", different,
					"To begin another one, delete that record: "+t.kubectl().Remove("configmap", t.store.Namespace, t.store.ObjectName()))
			}
			return m, preview.Over, nil
		}
	}
	if completed != "" || m.Status.Baseline == nil {
		resumed, was := m.Annotations[records.ResumedUIDAnnotationKey]
		m.Spec, m.Annotations = t.requested.Spec, t.requested.Annotations
		if was {
			metav1.SetMetaDataAnnotation(&m.ObjectMeta, records.ResumedUIDAnnotationKey, resumed)
		}
		// The epoch continues to count, so that an earlier process finds itself superseded. So do attempts, because they
		// are part of claim names.
		m.Status = api.MigrationStatus{Fence: m.Status.Fence, HookTurns: m.Status.HookTurns, LastAttempt: m.Status.LastAttempt}
		if len(m.Spec.Hooks) > 0 {
			m.Status.HookTurns++ // runs them again
		}
		return m, preview.Beginning, nil
	}
	if different := t.differences(); len(different) > 0 {
		return nil, "", t.refuse("a move of it is under way and recorded", different,
			"Continue with the recorded settings, or roll the move back first: "+t.back)
	}
	t.adopt(m)
	return m, preview.Underway, nil
}

// isBack reports whether the source of a completed move has replicas that it had given away. Then they have been moved
// back, and may be moved again.
func (t *task) isBack(ctx context.Context, m *api.Migration) (bool, error) {
	base := m.Status.Baseline
	if base == nil {
		return false, nil
	}
	set := &unstructured.Unstructured{}
	set.SetAPIVersion(cmp.Or(m.Spec.Source.APIVersion, "apps/v1"))
	set.SetKind("StatefulSet")
	err := t.source.Live().Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: m.Spec.Source.Name}, set)
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, command.Unreachable(t.source.Name(), err)
	}
	replicas, found, err := unstructured.NestedInt64(set.Object, "spec", "replicas")
	if !found || err != nil {
		replicas = 1 // the default of the API
	}
	return replicas > int64(base.Replicas-base.DestinationReplicas-m.Status.Total), nil
}

// differences returns the settings in which the flags differ from the record and that cannot change any more. It always
// compares the destination, and other settings only if their flag was set.
func (t *task) differences() []string {
	have, want := t.recorded.Spec, t.requested.Spec
	have.Volumes, have.Services = t.recorded.VolumesAsAccepted(), t.recorded.AcceptedServices()
	var out []string
	add := func(what, recorded, asked string) {
		out = append(out, fmt.Sprintf("%s: recorded %s, asked for %s", what, recorded, asked))
	}
	if id := t.recorded.Annotations[records.DestinationAnnotationKey]; id != t.requested.Annotations[records.DestinationAnnotationKey] {
		name := t.recorded.Annotations[records.DestinationNameAnnotationKey]
		if name == t.destination.Name() || name == "" {
			name += " (another one of that name)"
		}
		add("destination cluster", strings.TrimSpace(name), t.destination.Name())
	}
	if was, is := have.Storage != nil, want.Storage != nil; was != is {
		kind := map[bool]string{true: "a change in place", false: "a move"}
		add("kind of migration", kind[was], kind[is])
	}
	place := func(d api.DestinationReference) string { return d.Namespace + "/" + d.Name }
	if was, is := place(have.Destination), place(want.Destination); was != is {
		add("destination", was, is)
	}
	return append(out, t.spec.Differences(have, want)...)
}

func (t *task) refuse(why string, different []string, remedy string) error {
	return command.Refusedf("StatefulSet %s/%s in cluster %s: %s in ConfigMap %s, with other settings:\n  %s\n%s",
		t.store.Namespace, t.store.Name, t.source.Name(), why, t.store.ObjectName(), strings.Join(different, "\n  "), remedy)
}

// adopt applies the flags that may change during a move.
func (t *task) adopt(m *api.Migration) {
	if t.spec.Given(flags.Volume) || t.spec.Given(flags.StorageClass) {
		restore(m)
	}
	if t.spec.Given(flags.ExportServices) || t.spec.Given(flags.ExportOrdinals) {
		m.Spec.Services = m.AcceptedServices() // the flags have the same value; otherwise they were rejected
	}
	if t.spec.Given(flags.Volume) {
		say(m.Spec.Volumes, t.requested.Spec.Volumes)
	}
	t.spec.Adopt(&m.Spec, t.requested.Spec)
}

// save writes the record of a migration that resolve returned.
func (t *task) save(ctx context.Context, m *api.Migration) error {
	write := t.store.Save
	switch {
	case t.recorded == nil:
		write = t.store.Create
	case equality.Semantic.DeepEqual(t.recorded, m):
		return nil
	}
	if err := write(ctx, m); err != nil {
		return fmt.Errorf("cluster %s: writing the record, ConfigMap %s/%s: %w", t.source.Name(), t.store.Namespace, t.store.ObjectName(), err)
	}
	return nil
}

// restore restores the accepted methods and storage classes in the spec of a migration, if they have been changed.
func restore(m *api.Migration) {
	for _, accepted := range m.VolumesAsAccepted() {
		if api.AskedOf(m.Spec.Volumes, accepted.ClaimTemplate).SameWay(accepted) {
			continue
		}
		m.Spec.Volumes = slices.DeleteFunc(m.Spec.Volumes, func(v api.VolumeSpec) bool { return v.ClaimTemplate == accepted.ClaimTemplate })
		m.Spec.Volumes = append(m.Spec.Volumes, accepted)
	}
}

// say copies the settings of claim templates from asked, for those with the same method, during a move.
func say(volumes []api.VolumeSpec, asked []api.VolumeSpec) {
	for i := range volumes {
		for _, with := range asked {
			if with.ClaimTemplate == volumes[i].ClaimTemplate && with.Method == volumes[i].Method {
				volumes[i].Empty, volumes[i].Copy, volumes[i].Snapshot = with.Empty, with.Copy, with.Snapshot
			}
		}
	}
}
