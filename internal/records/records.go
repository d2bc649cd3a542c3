// Package records keeps what a migration must not forget: in the status of the
// Migration resource, or in a ConfigMap at the source when no resource definition
// is installed.
package records

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Store is where one migration is kept.
type Store interface {
	// Load reads it. The error is a NotFound of the API when there is none.
	Load(ctx context.Context) (*api.Migration, error)
	// Save writes the status over the resourceVersion that m was read with. Where not all of it was stored, the
	// error is a NotStoredError, and the new resourceVersion is in m.
	Save(ctx context.Context, m *api.Migration) error
	// Stores is a Save that writes nothing: nil: all of it would be stored.
	Stores(ctx context.Context, m *api.Migration) error
	// SetMode writes spec.mode.
	SetMode(ctx context.Context, mode api.Mode) error
	// TurnBack writes the mode Rollback and for which automatic rollback of the status that is, at once, and only over the
	// resourceVersion that m was read with.
	TurnBack(ctx context.Context, m *api.Migration) error
	// Change writes some fields of the spec, all of them at once.
	Change(ctx context.Context, change Change) error
	// Watched is the object that changes when the migration does.
	Watched() client.Object
}

// Change is what may be changed of a migration while it goes on, or after its end. What is
// empty stays as it is.
type Change struct {
	Mode        api.Mode          `json:"mode,omitempty"`
	Recovery    *api.RecoverySpec `json:"recovery,omitempty"`
	SplitBudget api.SplitBudget   `json:"splitBudget,omitempty"`
	HookAnswer  *api.HookAnswer   `json:"hookAnswer,omitempty"`
	Volumes     []api.VolumeSpec  `json:"volumes,omitempty"`
}

func (c Change) apply(spec *api.MigrationSpec) {
	if c.Mode != "" {
		spec.Mode = c.Mode
	}
	if c.Recovery != nil {
		spec.Recovery = *c.Recovery
	}
	if c.SplitBudget != "" {
		spec.SplitBudget = c.SplitBudget
	}
	if c.HookAnswer != nil {
		spec.HookAnswer = c.HookAnswer
	}
	if c.Volumes != nil {
		spec.Volumes = c.Volumes
	}
}

// Resource keeps a migration in its resource.
type Resource struct {
	Client          client.Client
	Namespace, Name string
}

// Load implements Store.
func (r Resource) Load(ctx context.Context) (*api.Migration, error) {
	m := &api.Migration{}
	return m, r.Client.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: r.Name}, m)
}

// TurnBack writes the mode Rollback, and only over the resourceVersion of m.
func (r Resource) TurnBack(ctx context.Context, m *api.Migration) error {
	before := m.DeepCopy()
	turnBack(m)
	return r.Client.Patch(ctx, m, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// SetMode implements Store.
func (r Resource) SetMode(ctx context.Context, mode api.Mode) error {
	return r.Change(ctx, Change{Mode: mode})
}

// Change implements Store.
func (r Resource) Change(ctx context.Context, change Change) error {
	m := &api.Migration{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.Name}}
	patch, err := json.Marshal(map[string]Change{"spec": change})
	if err != nil {
		return err
	}
	return r.Client.Patch(ctx, m, client.RawPatch(types.MergePatchType, patch))
}

// Watched implements Store.
func (r Resource) Watched() client.Object {
	return &api.Migration{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.Name}}
}

// dataKey is the key of the migration in its ConfigMap.
const dataKey = "migration.yaml"

// LabelKey is on every ConfigMap that keeps a migration.
const LabelKey = "migration.sliceshift.io/record"

// Annotations of a migration that is kept in a ConfigMap. They are kept with it:
// its spec names no cluster, and whoever goes on with it must not go elsewhere.
const (
	// DestinationAnnotationKey identifies the destination's cluster.
	DestinationAnnotationKey = "migration.sliceshift.io/destination-cluster"
	// ResumedUIDAnnotationKey is the UID of the migration whose record was lost and rebuilt here. It is the migration's UID from
	// then on: the marks on the objects have it.
	ResumedUIDAnnotationKey = "migration.sliceshift.io/resumed-uid"
	// DestinationNameAnnotationKey is what its first user called that cluster.
	DestinationNameAnnotationKey = "migration.sliceshift.io/destination-cluster-name"
)

// ConfigMap keeps a migration in a ConfigMap of the source's namespace. The
// ConfigMap's UID and resourceVersion are the migration's.
type ConfigMap struct {
	Client          client.Client
	Namespace, Name string
}

// ObjectName is the name of the ConfigMap for a migration.
func (c ConfigMap) ObjectName() string { return "sliceshift-" + c.Name }

// Load implements Store.
func (c ConfigMap) Load(ctx context.Context) (*api.Migration, error) {
	object := &corev1.ConfigMap{}
	if err := c.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: c.ObjectName()}, object); err != nil {
		return nil, err
	}
	return c.decode(object)
}

// Decode is the migration that a ConfigMap with LabelKey keeps.
func Decode(object *corev1.ConfigMap) (*api.Migration, error) {
	return ConfigMap{Namespace: object.Namespace, Name: object.Labels[LabelKey]}.decode(object)
}

// NotAMigrationError is that of a ConfigMap which was read, and holds no migration.
type NotAMigrationError struct {
	// Namespace and Name are those of the ConfigMap.
	Namespace, Name string
	// Cause is what is wrong with its text.
	Cause error
}

// Error implements error.
func (e *NotAMigrationError) Error() string {
	return fmt.Sprintf("ConfigMap %s/%s does not hold a migration: %v", e.Namespace, e.Name, e.Cause)
}

// Unwrap gives errors.Is and errors.As the cause.
func (e *NotAMigrationError) Unwrap() error { return e.Cause }

func (c ConfigMap) decode(object *corev1.ConfigMap) (*api.Migration, error) {
	type strict api.Migration // without its own way to decode, which leaves out what does not fit
	m := &api.Migration{}
	text, found := object.Data[dataKey]
	err := yaml.UnmarshalStrict([]byte(text), (*strict)(m))
	if !found {
		err = fmt.Errorf("it has no key %s", dataKey)
	}
	if err != nil {
		return nil, &NotAMigrationError{c.Namespace, object.Name, err}
	}
	m.Namespace, m.Name = c.Namespace, c.Name
	m.UID, m.ResourceVersion, m.CreationTimestamp = uidOf(m, object), object.ResourceVersion, object.CreationTimestamp
	return m, nil
}

// uidOf is the UID of a migration that a ConfigMap keeps: the ConfigMap's, or the one whose record was rebuilt.
func uidOf(m *api.Migration, object *corev1.ConfigMap) types.UID {
	return cmp.Or(types.UID(m.Annotations[ResumedUIDAnnotationKey]), object.UID)
}

// Create writes a migration that is not kept yet.
func (c ConfigMap) Create(ctx context.Context, m *api.Migration) error {
	object, err := c.encode(m)
	if err != nil {
		return err
	}
	object.ResourceVersion, object.UID = "", ""
	if err := c.Client.Create(ctx, object); err != nil {
		return err
	}
	m.UID, m.ResourceVersion, m.CreationTimestamp = uidOf(m, object), object.ResourceVersion, object.CreationTimestamp
	return nil
}

// Save implements Store.
func (c ConfigMap) Save(ctx context.Context, m *api.Migration) error {
	object, err := c.encode(m)
	if err != nil {
		return err
	}
	if err := c.Client.Update(ctx, object); err != nil {
		return err
	}
	m.ResourceVersion = object.ResourceVersion
	return nil
}

// Stores implements Store: a ConfigMap holds any text.
func (c ConfigMap) Stores(context.Context, *api.Migration) error { return nil }

// TurnBack writes the mode Rollback, and only over the resourceVersion of m.
func (c ConfigMap) TurnBack(ctx context.Context, m *api.Migration) error {
	turnBack(m)
	return c.Save(ctx, m)
}

// turnBack sets the mode, and says for which automatic rollback: both are in one write.
func turnBack(m *api.Migration) {
	m.Spec.Mode = api.ModeRollback
	if turn := m.Status.AutomaticRollback; turn != nil {
		metav1.SetMetaDataAnnotation(&m.ObjectMeta, api.AutomaticRollbackAnnotationKey, turn.Mark())
	}
}

func (c ConfigMap) encode(m *api.Migration) (*corev1.ConfigMap, error) {
	kept := m.DeepCopy()
	kept.TypeMeta = metav1.TypeMeta{APIVersion: api.GroupVersion.String(), Kind: "Migration"}
	kept.ObjectMeta = metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name, Annotations: m.Annotations}
	data, err := yaml.Marshal(kept)
	if err != nil {
		return nil, err
	}
	uid := m.UID
	if m.Annotations[ResumedUIDAnnotationKey] != "" {
		uid = "" // it is not the ConfigMap's; the resourceVersion is
	}
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.Namespace, Name: c.ObjectName(), UID: uid, ResourceVersion: m.ResourceVersion,
			Labels: map[string]string{LabelKey: c.Name},
		},
		Data: map[string]string{dataKey: string(data)},
	}, nil
}

// SetMode implements Store.
func (c ConfigMap) SetMode(ctx context.Context, mode api.Mode) error {
	return c.Change(ctx, Change{Mode: mode})
}

// Change implements Store. It tries again when the migration moves on meanwhile.
func (c ConfigMap) Change(ctx context.Context, change Change) error {
	for {
		m, err := c.Load(ctx)
		if err != nil {
			return err
		}
		change.apply(&m.Spec)
		if change.Mode == api.ModeRun || change.Mode == api.ModePause {
			m.Status.AutomaticRollback = nil // no tool writes a record: it is the word of a person
			m.Status.StartWithdrawn = nil
		}
		if err := c.Save(ctx, m); !apierrors.IsConflict(err) {
			return err
		}
		if err := ctx.Err(); err != nil {
			return errors.Join(errors.New("the record keeps changing"), err)
		}
	}
}

// Watched implements Store.
func (c ConfigMap) Watched() client.Object {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.ObjectName()}}
}

// Completed is why a migration is completed: the reason of its condition. It is empty until then.
func Completed(m *api.Migration) string {
	if c := meta.FindStatusCondition(m.Status.Conditions, api.ConditionCompleted); c != nil && c.Status == metav1.ConditionTrue {
		return c.Reason
	}
	return ""
}

// AwaitsPause says whether the mode Run does not have a migration go on to its destination, because it was turned back by itself:
// a pause comes first, which is the word of a person. In the record of a run that turns back the mode Run is that word
// already: no tool writes one.
func AwaitsPause(m *api.Migration, record bool) bool {
	running := m.Spec.Mode == api.ModeRun || m.Spec.Mode == ""
	return m.Status.AutomaticRollback != nil && (running || !record)
}

// AtRest says whether a migration is paused and has no ordinal on its way: every ordinal runs, on one side or the
// other, and nobody is needed for that. What was seen of an older spec does not count.
func AtRest(m *api.Migration) bool {
	progressing := meta.FindStatusCondition(m.Status.Conditions, api.ConditionProgressing)
	return m.Spec.Mode == api.ModePause && m.Status.Handoff == nil && progressing != nil &&
		progressing.Status == metav1.ConditionFalse && progressing.Reason == api.ReasonPaused && progressing.ObservedGeneration == m.Generation
}
