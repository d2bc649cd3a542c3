package stage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/rehearsal"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/snapshot/manifest"
)

// Do performs one write. If the object has changed since the decision, it writes nothing, and the next pass decides
// again.
func (s *Stage) Do(ctx context.Context, r rehearsal.Record, w rehearsal.Write) error {
	at := s.Pair.Destination
	if w.AtSource {
		at = s.Pair.Source
	}
	err := s.do(ctx, at, r, w)
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || absent(err) && w.Verb != rehearsal.Create {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cluster %s: %s: %w", at.Cluster, w, err)
	}
	return nil
}

func (s *Stage) do(ctx context.Context, at endpoint.Endpoint, r rehearsal.Record, w rehearsal.Write) error {
	if w.Carry != nil {
		return s.carry(ctx, r, w)
	}
	switch w.Verb {
	case rehearsal.Create:
		object, err := s.created(ctx, r, w)
		if err != nil {
			return err
		}
		mark(object, r)
		if err := at.Live.Create(ctx, object); err != nil {
			return err
		}
		if w.Kind == rehearsal.KindBinding {
			s.boundAt = s.Clock.Now()
		}
		return nil
	case rehearsal.Delete:
		object, err := s.empty(w)
		if err != nil {
			return err
		}
		return at.Live.Delete(ctx, object, client.Preconditions{UID: &w.On.UID, ResourceVersion: &w.On.ResourceVersion}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	case rehearsal.Loosen:
		return s.loosen(ctx, at, w)
	default:
		return &volumes.UnsentError{Reason: fmt.Sprintf("unknown verb %q", w.Verb)}
	}
}

// loosen lets the storage be deleted with its object.
func (s *Stage) loosen(ctx context.Context, at endpoint.Endpoint, w rehearsal.Write) error {
	field := map[rehearsal.Kind]string{rehearsal.KindVolume: "persistentVolumeReclaimPolicy", rehearsal.KindContent: "deletionPolicy"}[w.Kind]
	object, err := s.empty(w)
	if err != nil || field == "" {
		return &volumes.UnsentError{Reason: fmt.Sprintf("%s has no policy", w.Kind)}
	}
	judged := volumes.Action{UID: w.On.UID, ResourceVersion: w.On.ResourceVersion}
	_, err = volumes.Patch(ctx, at.Live, object, judged, map[string]any{"spec": map[string]any{field: string(corev1.PersistentVolumeReclaimDelete)}})
	return err
}

// empty returns the object of a write, with nothing but its name.
func (s *Stage) empty(w rehearsal.Write) (client.Object, error) {
	named := metav1.ObjectMeta{Namespace: w.On.Namespace, Name: w.On.Name}
	switch w.Kind {
	case rehearsal.KindNamespace:
		return &corev1.Namespace{ObjectMeta: named}, nil
	case rehearsal.KindSet:
		return s.Pair.Destination.NewSet(named), nil
	case rehearsal.KindMover:
		return &corev1.Pod{ObjectMeta: named}, nil
	case rehearsal.KindClaim:
		return &corev1.PersistentVolumeClaim{ObjectMeta: named}, nil
	case rehearsal.KindVolume:
		return &corev1.PersistentVolume{ObjectMeta: named}, nil
	case rehearsal.KindTaken, rehearsal.KindImport:
		return manifest.Empty(manifest.SnapshotKind, w.On.Ref), nil
	case rehearsal.KindContent:
		return manifest.Empty(manifest.ContentKind, w.On.Ref), nil
	default:
		return nil, &volumes.UnsentError{Reason: fmt.Sprintf("%s is not changed or deleted alone", w.Kind)}
	}
}

// snapshotName returns the name of a snapshot object of a claim. No other rehearsal and no migration has it.
func snapshotName(what string, r rehearsal.Record, claim volumes.Ref) string {
	const digits = 16
	sum := sha256.Sum256([]byte(string(r.ID) + "/" + claim.Namespace + "/" + claim.Name))
	return "rehearsal-" + what + "-" + hex.EncodeToString(sum[:])[:digits]
}
