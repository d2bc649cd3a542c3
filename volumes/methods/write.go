package methods

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/copy/manifest"
	snapshotmanifest "github.com/sliceshift/sliceshift/volumes/snapshot/manifest"
)

// Write performs one action of any method: exactly one write. The API server refuses it if the object has changed since
// pair was observed. Write returns the object that was written; nil after a deletion.
func Write(ctx context.Context, c volumes.Carrier, action volumes.Action, pair volumes.Pair) (client.Object, error) {
	w, own := writerOf(c, action, pair), action.Kind() == volumes.KindClaim && action.Part() == "" && action.Copy.Attempt == 0 && action.Copy.Like == nil
	switch change := action.Change(); {
	case change == volumes.Deletes:
		return nil, w.deleted(ctx)
	case action.Kind() == volumes.KindVolume, own:
		return volumes.Apply(ctx, c, action, pair)
	case change == volumes.Creates:
		return w.created(ctx, pair)
	case change == volumes.Updates:
		return w.updated(ctx)
	default:
		return nil, &volumes.UnsentError{Reason: fmt.Sprintf("unknown action %q", action.Verb)}
	}
}

// created creates the object of the action.
func (w writer) created(ctx context.Context, pair volumes.Pair) (client.Object, error) {
	object, err := w.object(ctx, pair)
	if err != nil {
		return nil, err
	}
	return object, w.at.Create(ctx, object)
}

// object returns the object that the action creates.
func (w writer) object(ctx context.Context, pair volumes.Pair) (client.Object, error) {
	switch w.action.Kind() {
	case volumes.KindClaim:
		return w.newClaim(ctx, pair)
	case volumes.KindPod:
		return w.mover(ctx, pair)
	case volumes.KindService:
		return w.entrance(), nil
	case volumes.KindExport:
		return w.export(), nil
	case volumes.KindSnapshot:
		return w.snapshot(), nil
	case volumes.KindContent:
		return w.content(ctx)
	default:
		return nil, &volumes.UnsentError{Reason: fmt.Sprintf("action %q creates an object of no known kind", w.action.Verb)}
	}
}

// updated writes to the object that was judged.
func (w writer) updated(ctx context.Context) (client.Object, error) {
	if w.action.Kind() == volumes.KindContent {
		return w.writeContent(ctx)
	}
	annotations := map[string]any{api.FenceAnnotationKey: w.action.Fence}
	if peer := w.action.Copy.Peer; peer != "" {
		annotations[manifest.PeerAnnotationKey] = peer
	}
	return volumes.Patch(ctx, w.at, &corev1.Pod{ObjectMeta: w.meta(w.action.Copy.Pod)}, w.action, map[string]any{"metadata": map[string]any{"annotations": annotations}})
}

// deleted deletes the object that was judged.
func (w writer) deleted(ctx context.Context) error {
	object, err := w.empty()
	if err != nil {
		return err
	}
	return w.at.Delete(ctx, object, client.Preconditions{UID: &w.action.UID, ResourceVersion: &w.action.ResourceVersion})
}

// empty returns an object of the action's kind with nothing but its name.
func (w writer) empty() (client.Object, error) {
	switch meta := w.meta(w.action.Object()); w.action.Kind() {
	case volumes.KindClaim:
		return &corev1.PersistentVolumeClaim{ObjectMeta: meta}, nil
	case volumes.KindPod:
		return &corev1.Pod{ObjectMeta: meta}, nil
	case volumes.KindService:
		return &corev1.Service{ObjectMeta: meta}, nil
	case volumes.KindSnapshot:
		return snapshotmanifest.Empty(snapshotmanifest.SnapshotKind, w.action.Ref), nil
	case volumes.KindContent:
		return snapshotmanifest.Empty(snapshotmanifest.ContentKind, volumes.Ref{Name: w.action.Ref.Name}), nil
	default:
		return nil, &volumes.UnsentError{Reason: fmt.Sprintf("action %q deletes an object of no known kind", w.action.Verb)}
	}
}

// writer performs one action in the cluster at. The ordinal's claim in the other cluster is from.
type writer struct {
	volumes.Carrier
	action    volumes.Action
	at, other client.Client
	from      volumes.Ref
}

// writerOf returns the writer of an action.
func writerOf(c volumes.Carrier, action volumes.Action, pair volumes.Pair) writer {
	if action.AtGiver {
		return writer{Carrier: c, action: action, at: c.Giver, other: c.Taker, from: pair.Taker.Ref}
	}
	return writer{Carrier: c, action: action, at: c.Taker, other: c.Giver, from: pair.Giver.Ref}
}

func (w writer) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.action.Ref.Namespace, Name: name}
}
