package move

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
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
	if completed == api.ReasonMoved {
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
	var out []string
	add := func(given bool, what, recorded, asked string) {
		if given && recorded != asked {
			out = append(out, fmt.Sprintf("%s: recorded %s, asked for %s", what, recorded, asked))
		}
	}
	if id := t.recorded.Annotations[records.DestinationAnnotationKey]; id != t.requested.Annotations[records.DestinationAnnotationKey] {
		name := t.recorded.Annotations[records.DestinationNameAnnotationKey]
		if name == t.destination.Name() || name == "" {
			name += " (another one of that name)"
		}
		add(true, "destination cluster", strings.TrimSpace(name), t.destination.Name())
	}
	place := func(d api.DestinationReference) string { return d.Namespace + "/" + d.Name }
	add(true, "destination", place(have.Destination), place(want.Destination))
	add(t.spec.Given(flags.Kind), flags.Kind, have.Source.APIVersion, want.Source.APIVersion)
	add(t.spec.Given(flags.ToKind), flags.ToKind, have.Destination.APIVersion, want.Destination.APIVersion)
	add(t.spec.Given(flags.Order) || t.spec.Orders(), "order", string(have.Ordinals.Order), string(want.Ordinals.Order))
	add(t.spec.Given(flags.Count), "count", number(have.Ordinals.Count, "all"), number(want.Ordinals.Count, "all"))
	if t.spec.Given(flags.MaxUnavailable) && !equality.Semantic.DeepEqual(have.MaxUnavailable, want.MaxUnavailable) {
		recorded := "the PodDisruptionBudget's"
		if have.MaxUnavailable != nil {
			recorded = have.MaxUnavailable.String()
		}
		add(true, "max-unavailable", recorded, want.MaxUnavailable.String())
	}
	add(t.spec.Given(flags.StorageClass), "storage classes", classes(t.recorded.VolumesAsAccepted()), classes(want.Volumes))
	add(t.spec.Given(flags.AccessModes), "access modes", accessModes(t.recorded.VolumesAsAccepted()), accessModes(want.Volumes))
	add(t.spec.Given(flags.Shared), "shared paths", shared(have.Volumes), shared(want.Volumes))
	add(t.spec.Given(flags.Volume), "methods of volumes", methodsOf(t.recorded.VolumesAsAccepted()), methodsOf(want.Volumes))
	made, asked := t.recorded.AcceptedServices(), want.Services.Spelled()
	add(t.spec.Given(flags.ExportServices), "export-services", strconv.FormatBool(made.Export), strconv.FormatBool(asked.Export))
	add(t.spec.Given(flags.ExportOrdinals), flags.ExportOrdinals, string(made.PerOrdinal), string(asked.PerOrdinal))
	return out
}

func number(n *int32, none string) string {
	if n == nil {
		return none
	}
	return strconv.Itoa(int(*n))
}

func classes(volumes []api.VolumeSpec) string {
	return mapped(volumes, func(v api.VolumeSpec) string { return ptr.Deref(v.StorageClassName, "") })
}

func accessModes(volumes []api.VolumeSpec) string {
	return mapped(volumes, func(v api.VolumeSpec) string { return api.Modes(v.AccessModes) })
}

// mapped returns the setting of each claim template that differs from the source's, as text.
func mapped(volumes []api.VolumeSpec, word func(api.VolumeSpec) string) string {
	words := make([]string, 0, len(volumes))
	for _, v := range volumes {
		if is := word(v); is != "" {
			words = append(words, v.ClaimTemplate+"="+is)
		}
	}
	if len(words) == 0 {
		return "the source's"
	}
	return strings.Join(words, ",")
}

func shared(volumes []api.VolumeSpec) string {
	var words []string
	for _, v := range volumes {
		if v.Shared {
			words = append(words, v.ClaimTemplate)
		}
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ",")
}

func (t *task) refuse(why string, different []string, remedy string) error {
	return command.Refusedf("StatefulSet %s/%s in cluster %s: %s in ConfigMap %s, with other settings:\n  %s\n%s",
		t.store.Namespace, t.store.Name, t.source.Name(), why, t.store.ObjectName(), strings.Join(different, "\n  "), remedy)
}

// adopt applies the flags that may change during a move.
func (t *task) adopt(m *api.Migration) {
	if t.spec.Given(flags.MinReady) {
		m.Spec.Handoff.MinReadySeconds = t.requested.Spec.Handoff.MinReadySeconds
	}
	if t.spec.Given(flags.Deadline) {
		m.Spec.Handoff.ProgressDeadlineSeconds = t.requested.Spec.Handoff.ProgressDeadlineSeconds
	}
	if t.spec.Given(flags.SplitBudget) {
		m.Spec.SplitBudget = t.requested.Spec.SplitBudget
	}
	if t.spec.Given(flags.Gates) || t.spec.Cooked() {
		m.Spec.Gates = t.requested.Spec.Gates
	}
	if t.spec.Given(flags.Probe) {
		m.Spec.Probe = t.requested.Spec.Probe
	}
	if t.spec.Given(flags.Hooks) || t.spec.Cooked() {
		m.Spec.Hooks = t.requested.Spec.Hooks
	}
	if t.spec.Given(flags.PauseWriters) {
		m.Spec.Writers.Pause = t.requested.Spec.Writers.Pause
	}
	if t.spec.Given(flags.PausedByHand) {
		m.Spec.Writers.PausedByHand = t.requested.Spec.Writers.PausedByHand
	}
	if t.spec.Given(flags.Volume) || t.spec.Given(flags.StorageClass) {
		restore(m)
	}
	if t.spec.Given(flags.ExportServices) || t.spec.Given(flags.ExportOrdinals) {
		m.Spec.Services = m.AcceptedServices() // the flags have the same value; otherwise they were rejected
	}
	if t.spec.Given(flags.Volume) {
		say(m.Spec.Volumes, t.requested.Spec.Volumes)
	}
	if t.spec.Schedules() {
		m.Spec.Schedule = t.requested.Spec.Schedule
	}
	t.spec.SetDependencies(&m.Spec.Dependencies)
	if t.spec.Given(flags.Cleanup) {
		m.Spec.Cleanup = t.requested.Spec.Cleanup
	}
}

// save writes the record of a migration that resolve returned.
func (t *task) save(ctx context.Context, m *api.Migration) error {
	if t.recorded == nil {
		if err := t.store.Create(ctx, m); err != nil {
			return fmt.Errorf("cluster %s: writing the record, ConfigMap %s/%s: %w", t.source.Name(), t.store.Namespace, t.store.ObjectName(), err)
		}
		return nil
	}
	if equality.Semantic.DeepEqual(t.recorded, m) {
		return nil
	}
	if err := t.store.Save(ctx, m); err != nil {
		return fmt.Errorf("cluster %s: writing the record, ConfigMap %s/%s: %w", t.source.Name(), t.store.Namespace, t.store.ObjectName(), err)
	}
	return nil
}

// methodsOf returns the methods of claim templates as text, for comparison.
func methodsOf(volumes []api.VolumeSpec) string {
	var words []string
	for _, v := range volumes {
		if v.Method != "" && v.Method != api.MethodRebind {
			words = append(words, v.ClaimTemplate+"="+strings.ToLower(string(v.Method)))
		}
	}
	if len(words) == 0 {
		return "rebind"
	}
	return strings.Join(words, ",")
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
