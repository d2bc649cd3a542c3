package world

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/copy/manifest"
)

// readCopyUsers reads whether pods name the claims of receivers that have ended well. The attachment of a copy is theirs
// alone only if there is no other such pod. It is not read before that, and not after the copy was taken over.
func (f *observed) readCopyUsers(ctx context.Context) error {
	var awaited []*copyPart
	for _, part := range f.copying {
		if volume := f.volumes[part.volumeName]; part.role == volumes.RoleReceiver && volume != nil && manifest.Observe(part.pod).Done() && !f.takenOver(part, volume) {
			awaited = append(awaited, part)
		}
	}
	if len(awaited) == 0 {
		return nil
	}
	var pods corev1.PodList
	if err := f.endpoint.Live.List(ctx, &pods, client.InNamespace(f.endpoint.Namespace)); err != nil {
		return err
	}
	users := usersOf(pods.Items)
	for _, part := range awaited {
		part.unused = len(users[part.claimName]) == 0
	}
	return nil
}

// takenOver reports whether a volume is reserved neither for the claim in which it was filled nor parked from there.
func (f *observed) takenOver(part *copyPart, volume *corev1.PersistentVolume) bool {
	incoming := volumes.Ref{Namespace: f.endpoint.Namespace, Name: part.claimName}
	claim := volume.Spec.ClaimRef
	if claim == nil {
		return true
	}
	have := volumes.Ref{Namespace: claim.Namespace, Name: claim.Name}
	return !have.Names(incoming) && !have.Names(volumes.Parked(incoming))
}

// outgoing returns the claim from which the giver's volume is read.
func (f *observed) outgoing(m *api.Migration, part *copyPart, own volumes.Holding) volumes.Holding {
	h := volumes.Holding{Ref: volumes.Ref{Namespace: f.endpoint.Namespace, Name: part.claimName}, Kubectl: f.endpoint.Kubectl(), Volume: own.Volume}
	if part.claim != nil {
		h.Claim = f.viewClaim(part.claim, m.UID)
	}
	return h
}
