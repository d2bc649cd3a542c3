package stage

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/rehearsal"
)

// recordKey is the key of a record in its ConfigMap, and RecordLabelKey is on each such ConfigMap.
const (
	recordKey      = "rehearsal.yaml"
	RecordLabelKey = "migration.sliceshift.io/rehearsal-of"
)

// Store keeps the record of the rehearsals of one StatefulSet, in a ConfigMap beside it. It is not safe for concurrent
// use.
type Store struct {
	Client         client.Client
	Namespace, Set string
	// kept is the last version of the ConfigMap that this process has read or written.
	kept *corev1.ConfigMap
}

// ObjectName returns the name of the ConfigMap. No record of a run has such a name.
func (s *Store) ObjectName() string { return "sliceshift.rehearsal." + s.Set }

// Load reads the record; nil if there is none.
func (s *Store) Load(ctx context.Context) (*rehearsal.Record, error) {
	found, err := endpoint.Get[corev1.ConfigMap](ctx, s.Client, client.ObjectKey{Namespace: s.Namespace, Name: s.ObjectName()})
	if err != nil || found == nil {
		return nil, err
	}
	r := &rehearsal.Record{}
	if err = yaml.UnmarshalStrict([]byte(found.Data[recordKey]), r); err == nil {
		err = r.Expect(s.Namespace, s.Set)
	}
	if err != nil {
		return nil, fmt.Errorf("ConfigMap %s/%s does not hold a rehearsal (%w): look at it, and delete it if nothing needs it", s.Namespace, s.ObjectName(), err)
	}
	s.kept = found
	return r, nil
}

// Save writes the record. It fails with a conflict if another process has written it since it was read.
func (s *Store) Save(ctx context.Context, r rehearsal.Record) error {
	data, err := yaml.Marshal(r)
	if err != nil {
		return err
	}
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.Namespace, Name: s.ObjectName(), Labels: map[string]string{RecordLabelKey: s.Set},
	}, Data: map[string]string{recordKey: string(data)}}
	if s.kept == nil {
		err = s.Client.Create(ctx, object)
	} else {
		object.UID, object.ResourceVersion = s.kept.UID, s.kept.ResourceVersion
		err = s.Client.Update(ctx, object)
	}
	switch {
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return s.taken(err)
	case err != nil:
		return err
	}
	s.kept = object
	return nil
}

// Held fails if another process has written the record since this one has. A record that was deleted is created again:
// without it, no later process would find the objects of the rehearsal.
func (s *Store) Held(ctx context.Context) error {
	found, err := endpoint.Get[corev1.ConfigMap](ctx, s.Client, client.ObjectKey{Namespace: s.Namespace, Name: s.ObjectName()})
	switch {
	case err != nil:
		return err
	case found == nil && s.kept != nil:
		return s.restore(ctx)
	case s.kept == nil || found.UID != s.kept.UID || found.ResourceVersion != s.kept.ResourceVersion:
		return s.taken(apierrors.NewConflict(corev1.Resource("configmaps"), s.ObjectName(), errTaken))
	}
	return nil
}

// restore creates the record again as this process has last read or written it.
func (s *Store) restore(ctx context.Context) error {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.ObjectName(), Labels: s.kept.Labels}, Data: s.kept.Data}
	if err := s.Client.Create(ctx, object); err != nil {
		return s.taken(err)
	}
	s.kept = object
	return nil
}

// errTaken is why a record is not this process's any more.
var errTaken = errors.New("it was changed")

func (s *Store) taken(err error) error {
	return fmt.Errorf("another process rehearses StatefulSet %s/%s, or its record cannot be written: %w", s.Namespace, s.Set, err)
}
