// Package records stores the state of a migration: in the status of the Migration resource, or in a ConfigMap at the source
// if the resource definition is not installed.
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

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// Store stores one migration.
type Store interface {
	// Load reads the migration. If there is none, the error is NotFound.
	Load(ctx context.Context) (*api.Migration, error)
	// Save writes the status, with the resourceVersion of m as precondition. If not all of it was stored, the error is a
	// NotStoredError, and m has the new resourceVersion.
	Save(ctx context.Context, m *api.Migration) error
	// Stores is a dry run of Save. nil means that all of the status would be stored.
	Stores(ctx context.Context, m *api.Migration) error
	// SetMode writes spec.mode.
	SetMode(ctx context.Context, mode api.Mode) error
	// TurnBack writes the mode Rollback, and the automatic rollback of the status that it is for, in one write. The
	// precondition is the resourceVersion of m.
	TurnBack(ctx context.Context, m *api.Migration) error
	// Change writes some fields of the spec, in one write.
	Change(ctx context.Context, change Change) error
	// Watched is the object that is watched for changes of the migration.
	Watched() client.Object
}

// Change holds the fields that may change while a migration runs, or after its end. An empty field is not changed.
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

// Resource stores a migration in a Migration resource.
type Resource struct {
	Client          client.Client
	Namespace, Name string
}

// Load implements Store.
func (r Resource) Load(ctx context.Context) (*api.Migration, error) {
	m := &api.Migration{}
	return m, r.Client.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: r.Name}, m)
}

// TurnBack implements Store.
func (r Resource) TurnBack(ctx context.Context, m *api.Migration) error {
	before := m.DeepCopy()
	turnBack(m)
	return r.Client.Patch(ctx, m, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// SetMode implements Store.
func (r Resource) SetMode(ctx context.Context, mode api.Mode) error {
	return r.Change(ctx, Change{Mode: mode})
}

// Change implements Store. A Migration whose mode a user sets is no longer held by its Evacuation.
func (r Resource) Change(ctx context.Context, change Change) error {
	m := &api.Migration{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.Name}}
	body := map[string]any{"spec": change}
	if change.Mode != "" {
		body["metadata"] = map[string]any{"annotations": map[string]any{api.EvacuationHeldAnnotationKey: nil}}
	}
	patch, err := json.Marshal(body)
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

// LabelKey is on every ConfigMap that stores a migration.
const LabelKey = "migration.sliceshift.io/record"

// Annotations of a migration in a ConfigMap. They are stored because its spec names no cluster, and every process that
// continues the migration must use the same one.
const (
	// DestinationAnnotationKey identifies the destination cluster.
	DestinationAnnotationKey = "migration.sliceshift.io/destination-cluster"
	// ResumedUIDAnnotationKey is the UID of the migration whose lost record was rebuilt here. It replaces the ConfigMap's
	// UID as UID of the migration, because the marks on the objects have it.
	ResumedUIDAnnotationKey = "migration.sliceshift.io/resumed-uid"
	// DestinationNameAnnotationKey is the first user's name for that cluster.
	DestinationNameAnnotationKey = "migration.sliceshift.io/destination-cluster-name"
)

// ConfigMap stores a migration in a ConfigMap in the source namespace. The ConfigMap's UID and resourceVersion are those of
// the migration.
type ConfigMap struct {
	Client          client.Client
	Namespace, Name string
}

// ObjectName returns the name of the ConfigMap for a migration.
func (c ConfigMap) ObjectName() string { return "sliceshift-" + c.Name }

// Load implements Store.
func (c ConfigMap) Load(ctx context.Context) (*api.Migration, error) {
	object := &corev1.ConfigMap{}
	if err := c.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: c.ObjectName()}, object); err != nil {
		return nil, err
	}
	return c.decode(object)
}

// Decode returns the migration in a ConfigMap with LabelKey.
func Decode(object *corev1.ConfigMap) (*api.Migration, error) {
	return ConfigMap{Namespace: object.Namespace, Name: object.Labels[LabelKey]}.decode(object)
}

// NotAMigrationError is the error of a ConfigMap that contains no valid migration.
type NotAMigrationError struct {
	// Namespace and Name identify the ConfigMap.
	Namespace, Name string
	// Cause is the decoding error.
	Cause error
}

// Error implements error.
func (e *NotAMigrationError) Error() string {
	return fmt.Sprintf("ConfigMap %s/%s does not hold a migration: %v", e.Namespace, e.Name, e.Cause)
}

// Unwrap returns the cause for errors.Is and errors.As.
func (e *NotAMigrationError) Unwrap() error { return e.Cause }

func (c ConfigMap) decode(object *corev1.ConfigMap) (*api.Migration, error) {
	type strict api.Migration // without UnmarshalJSON, which would leave out invalid values
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

// uidOf returns the UID of a migration in a ConfigMap: that of the rebuilt record, or that of the ConfigMap.
func uidOf(m *api.Migration, object *corev1.ConfigMap) types.UID {
	return cmp.Or(types.UID(m.Annotations[ResumedUIDAnnotationKey]), object.UID)
}

// Create creates the record of a migration.
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

// Stores implements Store. A ConfigMap stores any text.
func (c ConfigMap) Stores(context.Context, *api.Migration) error { return nil }

// TurnBack implements Store.
func (c ConfigMap) TurnBack(ctx context.Context, m *api.Migration) error {
	turnBack(m)
	return c.Save(ctx, m)
}

// turnBack sets the mode and the automatic rollback that it is for, so that one write has both.
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
		uid = "" // the ConfigMap has another UID; the resourceVersion is its own
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

// Change implements Store. It retries after a conflict.
func (c ConfigMap) Change(ctx context.Context, change Change) error {
	for {
		m, err := c.Load(ctx)
		if err != nil {
			return err
		}
		change.apply(&m.Spec)
		if change.Mode == api.ModeRun || change.Mode == api.ModePause {
			m.Status.AutomaticRollback = nil // only users change the mode in a record, no tool does
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

// Completed returns the reason of the condition Completed, or an empty string before completion.
func Completed(m *api.Migration) string {
	if c := meta.FindStatusCondition(m.Status.Conditions, api.ConditionCompleted); c != nil && c.Status == metav1.ConditionTrue {
		return c.Reason
	}
	return ""
}

// AwaitsPause reports whether the mode Run has no effect because the migration was rolled back automatically. The user must
// pause it first, to confirm. In the record of a run, the mode Run itself is the confirmation, because no tool writes it.
func AwaitsPause(m *api.Migration, record bool) bool {
	running := m.Spec.Mode == api.ModeRun || m.Spec.Mode == ""
	return m.Status.AutomaticRollback != nil && (running || !record)
}

// AtRest reports whether a migration is paused with no ordinal in flight. Every ordinal then runs on one side, and no
// process is needed. A status of an older generation does not count.
func AtRest(m *api.Migration) bool {
	progressing := meta.FindStatusCondition(m.Status.Conditions, api.ConditionProgressing)
	return m.Spec.Mode == api.ModePause && m.Status.Handoff == nil && progressing != nil &&
		progressing.Status == metav1.ConditionFalse && progressing.Reason == api.ReasonPaused && progressing.ObservedGeneration == m.Generation
}
