package stage

import (
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/rehearsal"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/snapshot/manifest"
)

// unserved reports whether an error means that the API server does not serve a kind.
func unserved(err error) bool { return meta.IsNoMatchError(err) || absent(err) }

// absent reports whether the API server answers that an object does not exist.
func absent(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.IsUnexpectedServerError(err) || meta.IsNoMatchError(err)
}

// left reads what a rehearsal that ends must delete; inside is true if this process may read the namespace. It reads
// nothing before the end.
func (s *Stage) left(ctx context.Context, r rehearsal.Record, inside bool) (rehearsal.Left, error) {
	var l rehearsal.Left
	if r.End == nil || r.Cleaned {
		return l, nil
	}
	return l, endpoint.Together(
		func() error { return s.leftMovers(ctx, r, inside, &l) },
		func() error {
			if !inside {
				return nil
			}
			return s.leftPods(ctx, r, &l)
		},
		func() error { return s.leftClaims(ctx, r, inside, &l) },
		func() error { return s.leftImports(ctx, r, inside, &l) },
		func() (err error) { l.Taken, err = s.leftTaken(ctx, r); return err },
	)
}

// leftMovers reads the movers of both sides.
func (s *Stage) leftMovers(ctx context.Context, r rehearsal.Record, inside bool, l *rehearsal.Left) error {
	sides := []endpoint.Endpoint{s.Pair.Source}
	if inside {
		sides = append(sides, s.Pair.Destination)
	}
	for _, at := range sides {
		var pods corev1.PodList
		if err := at.Live.List(ctx, &pods, client.InNamespace(at.Namespace), client.MatchingLabels{api.MigrationLabelKey: string(r.ID)}); err != nil {
			return err
		}
		for i := range pods.Items {
			l.Movers = append(l.Movers, rehearsal.MoverLeft{Object: objectOf(at, &pods.Items[i], r, volumes.Ref{}), AtSource: at.Side == plan.SourceSide})
		}
	}
	return nil
}

// leftPods reads the StatefulSet of the rehearsal, and its pods and those that mount claims. The namespace is that of the
// rehearsal alone, so its objects are the rehearsal's, whatever their labels; the decision checks the namespace.
func (s *Stage) leftPods(ctx context.Context, r rehearsal.Record, l *rehearsal.Left) error {
	at := s.Pair.Destination
	set, err := s.rehearsed(ctx, r)
	if err != nil {
		return err
	}
	if set.Found {
		set.Ours = true
		l.Sets = append(l.Sets, set)
	}
	var pods corev1.PodList
	if err := at.Live.List(ctx, &pods, client.InNamespace(at.Namespace)); err != nil {
		return err
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		mounts := slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil })
		if owner := metav1.GetControllerOf(pod); mounts || owner != nil && owner.Kind == "StatefulSet" {
			o := objectOf(at, pod, r, volumes.Ref{})
			o.Ours = true
			l.Mounting = append(l.Mounting, o)
		}
	}
	return nil
}

// leftClaims reads the claims of the namespace, and the volumes that are or were bound to such claims.
func (s *Stage) leftClaims(ctx context.Context, r rehearsal.Record, inside bool, l *rehearsal.Left) error {
	at := s.Pair.Destination
	var claims corev1.PersistentVolumeClaimList
	if inside {
		if err := at.Live.List(ctx, &claims, client.InNamespace(at.Namespace)); err != nil {
			return err
		}
	}
	var refs []volumes.Ref
	for i := range claims.Items {
		o := objectOf(at, &claims.Items[i], r, volumes.Ref{})
		o.Ours = true
		l.Claims, refs = append(l.Claims, o), append(refs, o.Ref)
	}
	all, err := s.volumes(ctx)
	for i := range all {
		if ref := all[i].Spec.ClaimRef; ref != nil && ref.Namespace == at.Namespace {
			l.Volumes = append(l.Volumes, s.volumeOf(&all[i], r, refs))
		}
	}
	return err
}

// leftImports reads what made snapshots known at the destination.
func (s *Stage) leftImports(ctx context.Context, r rehearsal.Record, inside bool, l *rehearsal.Left) error {
	at, ours := s.Pair.Destination, client.MatchingLabels{api.RehearsalLabelKey: string(r.ID)}
	var imports []unstructured.Unstructured
	if inside {
		var err error
		if imports, err = s.list(ctx, at, manifest.SnapshotKind, client.InNamespace(at.Namespace), ours); err != nil {
			return err
		}
	}
	contents, err := s.list(ctx, at, manifest.ContentKind, ours)
	for i := range imports {
		l.Imports = append(l.Imports, objectOf(at, &imports[i], r, volumes.Ref{}))
	}
	for i := range contents {
		l.Contents = append(l.Contents, objectOf(at, &contents[i], r, volumes.Ref{}))
	}
	return err
}

// provisionedContent begins the name of the content that the snapshot-controller creates for a VolumeSnapshot, before
// the VolumeSnapshot names it (external-snapshotter utils.GetDynamicSnapshotContentNameForSnapshot). The UID follows.
const provisionedContent = "snapcontent-"

// leftTaken reads the snapshots at the source. A content is Ours if it was created for such a snapshot.
func (s *Stage) leftTaken(ctx context.Context, r rehearsal.Record) ([]rehearsal.TakenLeft, error) {
	at := s.Pair.Source
	taken, err := s.list(ctx, at, manifest.SnapshotKind, client.InNamespace(at.Namespace), client.MatchingLabels{api.RehearsalLabelKey: string(r.ID)})
	if err != nil {
		return nil, err
	}
	var all []rehearsal.TakenLeft
	for i := range taken {
		left := rehearsal.TakenLeft{Object: objectOf(at, &taken[i], r, volumes.Ref{})}
		name := cmp.Or(manifest.ContentOf(&taken[i]), provisionedContent+string(left.UID))
		object, err := s.object(ctx, at, manifest.ContentKind, volumes.Ref{Name: name})
		if err != nil {
			return nil, err
		}
		view := manifest.ViewContent(object, r.ID)
		left.Content, left.Retains = objectOf(at, object, r, volumes.Ref{Name: name}), view.Retain
		left.Content.Ours = view.For.Names(left.Ref) && view.For.UID == left.UID
		all = append(all, left)
	}
	return all, nil
}
